import { spareFilesMax } from '@tenure/wal'
import type { CheckpointKnobs } from './checkpoint-knobs.js'
import type { CheckpointedLog } from './checkpointed-log.js'

type LogPosition = Pick<CheckpointedLog, 'nextLsn' | 'checkpointLsn' | 'segments' | 'gaps'>

/**
 * Time that a slow machine needs to replay the records after the newest checkpoint, up to `lastLsn`,
 * which must end a segment.
 */
export function replayMs(
  { nextLsn, checkpointLsn, segments, gaps }: LogPosition,
  lastLsn = nextLsn - 1,
): number {
  const missing = gaps.reduce(
    (sum, gap) =>
      sum + Math.max(0, Math.min(gap.lastLsn, lastLsn) - Math.max(gap.firstLsn - 1, checkpointLsn)),
    0,
  )
  const records = lastLsn - checkpointLsn - missing
  const bytes = segments
    .filter(({ firstLsn }) => firstLsn > checkpointLsn && firstLsn <= lastLsn)
    .reduce((sum, { usedBytes }) => sum + usedBytes, 0)
  return Math.max(records / replayedPerMs, bytes / replayedBytesPerMs)
}

/** Minimum replay rates per millisecond, including reading and checking, on two slow cores. */
const replayedPerMs = 400
const replayedBytesPerMs = 256 * 1024

/**
 * Maximum size of the log without checkpoints, while replay stays within its budget. That is the kept history
 * or the records since the older of two checkpoints, whichever is larger; each checkpoint is followed by at
 * most one budget of records.
 */
export function logBytesBound(
  { replayMsMax, historyBytesMax }: CheckpointKnobs,
  segmentBytes: number,
): number {
  const sinceOlder = 2 * replayMsMax * replayedBytesPerMs
  // Plus segments that a checkpoint ended early, the current one, the prepared next one, and the
  // files that will be used again.
  return Math.max(historyBytesMax, sinceOlder) + (4 + spareFilesMax) * segmentBytes
}

/**
 * Predicts the replay time at the moment when a checkpoint finishes, from the growth rate of the replay
 * time and the duration of the last checkpoint.
 */
export class ReplayForecast {
  #seen: { readonly dueMs: number; readonly atMs: number } | undefined
  /** Milliseconds of replay added per millisecond. */
  #rate = 0
  #workMs: number | undefined

  /** Whether the duration of an earlier checkpoint is known. */
  get hasDuration(): boolean {
    return this.#workMs !== undefined
  }

  /** Records the current replay time. Call it regularly. */
  addSample(dueMs: number, atMs: number): void {
    if (this.#seen === undefined || dueMs < this.#seen.dueMs) {
      // A new checkpoint reduces the replay time, so this sample gives no rate.
      this.#seen = { dueMs, atMs }
      return
    }
    const passedMs = atMs - this.#seen.atMs
    if (passedMs < minSampleMs) return
    this.#rate = (dueMs - this.#seen.dueMs) / passedMs
    this.#seen = { dueMs, atMs }
  }

  /** Records the duration of a finished checkpoint. */
  setDuration(workMs: number): void {
    this.#workMs = workMs
  }

  /** The expected replay time when a checkpoint finishes that becomes urgent at the next tick. */
  replayWhenDoneMs(dueMs: number): number {
    return dueMs + this.#rate * (twoTicksMs + (this.#workMs ?? 0) * workMargin)
  }
}

/** Over a shorter time, one batch would distort the rate. */
const minSampleMs = 500
/** Up to one tick until the checkpoint is urgent, and one until starvation is detected. */
const twoTicksMs = 2000
/** The next checkpoint may be larger, and other load may be higher. */
const workMargin = 2
