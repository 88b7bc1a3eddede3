/** The parts of a log that the checkpointer uses. */
export interface CheckpointedLog {
  readonly nextLsn: number
  readonly sealedLsn: number
  readonly checkpointLsn: number
  /** LSN ranges without records. */
  readonly gaps: readonly { readonly firstLsn: number; readonly lastLsn: number }[]
  /** Oldest first; the last segment receives new records. */
  readonly segments: readonly {
    readonly firstLsn: number
    readonly bytes: number
    /** Bytes before the zero fill. */
    readonly usedBytes: number
    readonly begunAt: number
  }[]
  roll(): Promise<void>
  /** Writes the state as of the end of a sealed segment. */
  writeCheckpoint(lsn: number, chunks: Iterable<Uint8Array>): Promise<void>
  truncate(options: {
    readonly verified: readonly number[]
    readonly keepFromLsn: number
  }): Promise<Removed>
}

export interface Removed {
  readonly segments: number
  readonly bytes: number
  readonly checkpoints: number
}
