/** What a history is read from: a reader of `@tenure/wal` is one, and so is anything that can do the same. */
export interface LogSource {
  /** The first record that is left; what came before was removed behind a checkpoint. */
  readonly firstLsn: number
  /** The LSNs whose state is kept, newest first. */
  readonly checkpoints: readonly number[]
  readonly gaps: readonly LsnRange[]
  readonly openings: readonly Opening[]
  replay(options: { readonly fromLsn: number }): AsyncIterable<Run>
  readCheckpoint(lsn: number): AsyncIterable<Uint8Array>
}

export interface LsnRange {
  readonly firstLsn: number
  readonly lastLsn: number
}

/** A coordinator opened the log: what it wrote begins at `firstLsn`. */
export interface Opening {
  readonly epoch: number
  readonly firstLsn: number
  readonly at: number
}

/** Consecutive records, good until the next step. */
export interface Run {
  readonly firstLsn: number
  readonly records: readonly Uint8Array[]
}
