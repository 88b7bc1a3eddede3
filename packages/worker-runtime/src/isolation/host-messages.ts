import type { WorkerErrorCode } from '../errors.js'
import type { LogFields, LogLevel, Outcome } from '../handler.js'
import type { Work } from '../task-facts.js'

/**
 * What the runtime and a host, the thread or process in which a handler runs, say to each other. A
 * host runs one task at a time, so only what may come late names the lease that it is about.
 */
export type ToHost =
  | { readonly kind: 'run'; readonly work: Work }
  | {
      readonly kind: 'abort'
      readonly leaseId: number
      readonly code: WorkerErrorCode
      readonly message: string
    }

export type FromHost =
  /** The handler's module is loaded. */
  | { readonly kind: 'ready' }
  /** It cannot be loaded, and never will be. */
  | { readonly kind: 'unusable'; readonly reason: string }
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | {
      readonly kind: 'logged'
      readonly leaseId: number
      readonly level: LogLevel
      readonly message: string
      readonly fields?: LogFields
    }
