/** What a log can do for whoever makes its checkpoints. */
export interface CheckpointedLog {
  readonly nextLsn: number
  readonly sealedLsn: number
  readonly checkpointLsn: number
  /** LSNs for which there are no records. */
  readonly gaps: readonly { readonly firstLsn: number; readonly lastLsn: number }[]
  /** Oldest first; the last one takes the records. */
  readonly segments: readonly {
    readonly firstLsn: number
    readonly bytes: number
    /** What of it is no zeros. */
    readonly usedBytes: number
    readonly begunAt: number
  }[]
  roll(): Promise<void>
  /** Keeps the state after the end of a sealed segment. */
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
