import {
  apply,
  createState,
  decodeRecord,
  position,
  type State,
  StateDecoder,
  skipTo,
} from '@tenure/state-machine'
import { CoordinatorError } from './errors.js'

/** The part of a log that a start reads. */
export interface ReplayedLog {
  readonly nextLsn: number
  readonly checkpointLsn: number
  readonly gaps: readonly { readonly firstLsn: number; readonly lastLsn: number }[]
  readCheckpoint(): AsyncIterable<Uint8Array>
  replay(): AsyncIterable<{ readonly firstLsn: number; readonly records: Iterable<Uint8Array> }>
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
  const state = await readCheckpoint(log, hashKey)
  const start = position(state).lastLsn
  const total = log.nextLsn - 1 - start
  for await (const { firstLsn, records } of log.replay()) {
    skipGap(state, log, firstLsn)
    let lsn = firstLsn
    for (const record of records) apply(state, lsn++, decodeRecord(record))
    onProgress?.(lsn - 1 - start, total)
  }
  skipGap(state, log, log.nextLsn)
  return state
}

async function readCheckpoint(log: ReplayedLog, hashKey: number | undefined): Promise<State> {
  const options = hashKey === undefined ? {} : { hashKey }
  if (log.checkpointLsn === 0) return createState(options)
  const decoder = new StateDecoder(options)
  for await (const chunk of log.readCheckpoint()) decoder.add(chunk)
  return decoder.finish()
}

/** LSNs are missing only where the log says that they were never issued, or are given up. */
function skipGap(state: State, { gaps }: ReplayedLog, nextLsn: number): void {
  for (;;) {
    const { lastLsn } = position(state)
    if (nextLsn === lastLsn + 1) return
    const gap = gaps.find(
      ({ firstLsn, lastLsn: last }) => firstLsn <= lastLsn + 1 && last > lastLsn,
    )
    if (gap === undefined) {
      const message = `the log goes on at LSN ${nextLsn} behind LSN ${lastLsn} and declares no gap there`
      throw new CoordinatorError('COORDINATOR_FAILED', message)
    }
    skipTo(state, Math.min(gap.lastLsn + 1, nextLsn))
  }
}
