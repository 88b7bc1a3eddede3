import {
  beginning,
  type Replayable,
  readState,
  replayOnto,
  skipGap,
} from '@tenure/history/internal'
import { position, type State } from '@tenure/state-machine'

/** The part of a log that a start reads. */
export interface ReplayedLog extends Replayable {
  readonly nextLsn: number
  readonly checkpointLsn: number
  readCheckpoint(): AsyncIterable<Uint8Array>
}

export interface RecoveryOptions {
  readonly hashKey?: number
  /** Told after each run of records: how many were applied, and how many there are. */
  readonly onProgress?: (applied: number, total: number) => void
}

/**
 * 000 §6: the state that the log says, and nothing else: the newest checkpoint, then the records
 * behind it, each under all its preconditions.
 */
export async function recover(log: ReplayedLog, options: RecoveryOptions = {}): Promise<State> {
  const { hashKey, onProgress } = options
  const state =
    log.checkpointLsn === 0 ? beginning(hashKey) : await readState(log.readCheckpoint(), hashKey)
  const total = log.nextLsn - 1 - position(state).lastLsn
  await replayOnto(state, log, { onProgress: (applied) => onProgress?.(applied, total) })
  skipGap(state, log.gaps, log.nextLsn)
  return state
}
