/**
 * What goes through the channel between a worker and the process of a handler, in an envelope: the
 * handler, and whatever it uses, can speak there, too (`process.send`), and means somebody else.
 */
const mark = '@tenure/worker-runtime'

export interface Envelope<M> {
  readonly to: typeof mark
  readonly message: M
}

export function seal<M>(message: M): Envelope<M> {
  return { to: mark, message }
}

/** The message, if it is one of ours. */
export function unseal<M>(given: unknown): M | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { to, message } = given as Partial<Envelope<M>>
  return to === mark ? message : undefined
}
