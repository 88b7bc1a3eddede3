/** A checkpoint that was made, and what it took. */
export interface MadeCheckpoint {
  readonly lsn: number
  /** Every checkpoint that was read back and is good, newest first, this one included. */
  readonly good: readonly number[]
  /** How many are in it. */
  readonly tasks?: number
  /** Records that were replayed for it, and how long that took. */
  readonly replayed: number
  readonly replayMs: number
  readonly writeMs: number
}

/**
 * Makes the state after a sealed LSN into a checkpoint. Must not keep the event loop busy, and must
 * read only what is sealed.
 */
export interface CheckpointMaker {
  make(lsn: number): Promise<MadeCheckpoint>
  /**
   * What is under way is needed soon: it may disturb whatever else goes on. Said again from time to
   * time until it is made.
   */
  hurry(): void
  /** Gives up what is under way; it settles with an error. */
  stop(): Promise<void>
}
