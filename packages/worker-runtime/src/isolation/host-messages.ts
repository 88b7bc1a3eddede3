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
      readonly fields?: LogFields
    }
