import type { WorkerError } from '../errors.js'
import type { LogFields, LogLevel, Outcome, Work } from '../handler.js'

/** Where handlers run: the seam between the runtime's loop and the code of handlers. */
export interface Isolation {
  /** Resolves when handlers can run. Rejects if they never can. */
  start(): Promise<void>
  /** Starts a handler. The runtime never starts more concurrent handlers than it has slots. */
  run(work: Work, events: RunEvents): Run
  /** Terminates all running handlers, where possible. */
  close(): Promise<void>
}

export interface RunEvents {
  /** The handler has ended and frees its slot. Called once, as the last event, after `run` has returned. */
  ended(outcome: Outcome): void
  logged(level: LogLevel, message: string, fields?: LogFields): void
}

/** One running handler. */
export interface Run {
  /** Asks the handler to end. */
  abort(reason: WorkerError): void
  /**
   * Ends the handler by force, aborted before or not; `ended` follows. Returns false if that is not possible.
   * The runtime then aborts the handler and ignores its later output and result.
   */
  terminate(): boolean
}
