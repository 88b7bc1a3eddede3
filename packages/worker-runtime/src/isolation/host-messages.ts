import type { WorkerErrorCode } from '../errors.js'
import type { LogFields, LogLevel, Outcome, Work } from '../handler.js'

/**
 * What the runtime and a host, the thread or process in which a handler runs, say to each other. A
 * host runs one task at a time; but what it says may come late, so it names the lease it is about.
 */
export type ToHost =
  | { readonly kind: 'run'; readonly work: Work }
  | {
      readonly kind: 'abort'
      readonly leaseId: number
      readonly code: WorkerErrorCode
      readonly message: string
    }
  /** So many lines of its log have been taken: as many more may come. */
  | { readonly kind: 'heard'; readonly lines: number }

export type FromHost =
  /** The handler's module is loaded. */
  | { readonly kind: 'ready' }
  /** It cannot be loaded, and never will be. */
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'ended'; readonly leaseId: number; readonly outcome: Outcome }
  | {
      readonly kind: 'logged'
      readonly leaseId: number
      readonly level: LogLevel
      readonly message: string
      readonly fields?: LogFields | undefined
    }

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
