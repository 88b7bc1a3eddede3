import type { WorkerErrorCode } from '../errors.js'
import type { LogFields, LogLevel, Outcome, Work } from '../handler.js'

/**
 * Messages between the runtime and a host, which is the thread or process of a handler. A host runs one task
 * at a time. Its messages name the lease, because they may arrive late.
 */
export type ToHost =
  | { readonly kind: 'run'; readonly work: Work }
  | {
      readonly kind: 'abort'
      readonly leaseId: number
      readonly code: WorkerErrorCode
      readonly message: string
    }
  /** The runtime has processed this many log lines; the host may send as many more. */
  | { readonly kind: 'acknowledged'; readonly lines: number }

export type FromHost =
  /** The handler's module is loaded. */
  | { readonly kind: 'ready' }
  /** The handler's module cannot be loaded. */
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
 * Wraps messages between a worker and a handler's process. The handler may use the same channel
 * (`process.send`) for messages of its own, which the mark tells apart.
 */
const mark = '@tenure/worker-runtime'

export interface Envelope<M> {
  readonly to: typeof mark
  readonly message: M
}

export function seal<M>(message: M): Envelope<M> {
  return { to: mark, message }
}

/** The message, or `undefined` for a message of the handler. */
export function unseal<M>(given: unknown): M | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { to, message } = given as Partial<Envelope<M>>
  return to === mark ? message : undefined
}
