import { type Replayable, readState, replayOnto, skipGap } from '@tenure/history/internal'
import { createState, position, type State } from '@tenure/state-machine'

/** The parts of a log that recovery reads. */
export interface ReplayedLog extends Replayable {
  readonly nextLsn: number
  readonly checkpointLsn: number
  readCheckpoint(): AsyncIterable<Uint8Array>
}

export interface RecoveryOptions {
  readonly hashKey?: number
  /** Called after each group of records. */
  readonly onProgress?: (applied: number, total: number) => void
}

/**
 * 000 §6: rebuilds the state from the newest checkpoint and the records after it. Every precondition of each
 * record is checked.
 */
export async function recover(log: ReplayedLog, options: RecoveryOptions = {}): Promise<State> {
  const { hashKey, onProgress } = options
  const state =
    log.checkpointLsn === 0
      ? createState({ hashKey })
      : await readState(log.readCheckpoint(), hashKey)
  const total = log.nextLsn - 1 - position(state).lastLsn
  await replayOnto(state, log, { onProgress: (applied) => onProgress?.(applied, total) })
  skipGap(state, log.gaps, log.nextLsn)
  return state
}
