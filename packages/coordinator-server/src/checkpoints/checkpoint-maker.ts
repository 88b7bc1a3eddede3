/** A finished checkpoint and its cost. */
export interface MadeCheckpoint {
  readonly lsn: number
  /** All checkpoints that were read back and verified, newest first, including this one. */
  readonly good: readonly number[]
  /** Number of tasks in the checkpoint. */
  readonly tasks?: number
  /** Number of records replayed to build it. */
  readonly replayed: number
  readonly replayMs: number
  readonly writeMs: number
}

/**
 * Writes the state as of a sealed LSN to a checkpoint. Must not block the event loop, and must read
 * only sealed segments.
 */
export interface CheckpointMaker {
  make(lsn: number): Promise<MadeCheckpoint>
  /**
   * The running checkpoint is urgent and may now slow down other work. Called repeatedly until it is
   * done.
   */
  hurry(): void
  /** Abandons the running checkpoint; its promise rejects. */
  stop(): Promise<void>
}
