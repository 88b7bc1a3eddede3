/** The source of a history: a reader of `@tenure/wal`, or any object with the same members. */
export interface LogSource {
  /** The first remaining record. Truncation removed earlier ones. */
  readonly firstLsn: number
  /** The LSNs of the checkpoints, newest first. */
  readonly checkpoints: readonly number[]
  readonly gaps: readonly LsnRange[]
  readonly openings: readonly Opening[]
  replay(options: { readonly fromLsn: number }): AsyncIterable<RecordRange>
  readCheckpoint(lsn: number): AsyncIterable<Uint8Array>
}

export interface LsnRange {
  readonly firstLsn: number
  readonly lastLsn: number
}

/** One open of the log by a coordinator, whose records start at `firstLsn`. */
export interface Opening {
  readonly epoch: number
  readonly firstLsn: number
  readonly at: number
}

/** Consecutive records, valid until the next step. */
export interface RecordRange {
  readonly firstLsn: number
  readonly records: readonly Uint8Array[]
}
