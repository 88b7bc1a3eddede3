import type { WorkerError } from '../errors.js'
import type { LogFields, LogLevel, Outcome, Work } from '../handler.js'

/** Where handlers run: the seam between the runtime's loop and somebody else's code. */
export interface Isolation {
  /** Settles when a handler can be run; rejects when none ever could. */
  start(): Promise<void>
  /** Begins to run a handler. The runtime never has more of them at once than it has slots. */
  run(work: Work, events: RunEvents): Run
  /** Terminates every handler that still runs, where that is possible. */
  close(): Promise<void>
}

export interface RunEvents {
  /** The handler is gone, and with it its claim to a slot: once, last, and after `run` has returned. */
  ended(outcome: Outcome): void
  logged(level: LogLevel, message: string, fields?: LogFields): void
}

/** One handler at work. */
export interface Run {
  /** Tells it to end. */
  abort(reason: WorkerError): void
  /**
   * Ends it without asking, told to end before or not; `ended` follows. False where that is not possible: then it is
   * told, and what it says and returns afterwards counts for nothing.
   */
  terminate(): boolean
}
