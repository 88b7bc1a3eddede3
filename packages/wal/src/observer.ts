import type { WalError } from './errors.js'

/** What a log tells about its work, for metrics. Every hook is optional, and none may throw. */
export interface LogObserver {
  /** A batch is durable. */
  committed?(commit: Commit): void
  /** A new segment takes the records from here on; `durationMs` is how long commits waited, also for it to be made. */
  rolled?(roll: { readonly segment: string; readonly durationMs: number }): void
  /** The next segment is ready. */
  sparePrepared?(spare: { readonly bytes: number; readonly durationMs: number }): void
  /** The disk has no room for the next segment, or has room again. */
  spaceChanged?(isFull: boolean): void
  /** The log has ended by a failure. Nothing more will be written. */
  failed?(error: WalError): void
}

export interface Commit {
  readonly records: number
  readonly appends: number
  /** What was written, framing included. */
  readonly bytes: number
  /** From the start of the write until it was durable. */
  readonly durationMs: number
  /** Whether the event loop stood still for it. */
  readonly onLoop: boolean
}
