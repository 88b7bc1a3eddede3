import type { CheckpointKnobs } from './checkpoint-knobs.js'
import type { CheckpointedLog } from './checkpointed-log.js'

type Behind = Pick<CheckpointedLog, 'nextLsn' | 'checkpointLsn' | 'segments' | 'gaps'>

/**
 * How long the records behind the newest checkpoint would take, by what a slow machine replays: all
 * of them, or those up to an LSN that ends a segment.
 */
export function replayMs(
  { nextLsn, checkpointLsn, segments, gaps }: Behind,
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

/** What a restart reads, checks and applies in a millisecond at least, on two slow cores. */
const replayedPerMs = 400
const replayedBytesPerMs = 256 * 1024

/**
 * What the log takes at most, checkpoints not counted, while a restart has no more to replay than
 * the knobs say: the history that is kept, or what was written since the older of two checkpoints,
 * which is at most what may be replayed behind each of them.
 */
export function logBytesBound(
  { replayMsMax, historyBytesMax }: CheckpointKnobs,
  segmentBytes: number,
): number {
  const sinceOlder = 2 * replayMsMax * replayedBytesPerMs
  // Segments that a checkpoint ended early, the one in use, and the next one, full of zeros.
  return Math.max(historyBytesMax, sinceOlder) + 4 * segmentBytes
}

/**
 * Foresees what a restart would have to replay by the time a checkpoint can be ready, from how fast
 * that has grown and from how long the last checkpoint took.
 */
export class ReplayForecast {
  #seen: { readonly dueMs: number; readonly atMs: number } | undefined
  /** Milliseconds of replay that each millisecond brings. */
  #rate = 0
  #workMs: number | undefined

  /** Whether a checkpoint was made by which the next one can be judged. */
  get isFounded(): boolean {
    return this.#workMs !== undefined
  }

  /** To be told from time to time what a restart would have to replay now. */
  see(dueMs: number, atMs: number): void {
    if (this.#seen === undefined || dueMs < this.#seen.dueMs) {
      // Behind a new checkpoint less is due, which tells nothing of the rate.
      this.#seen = { dueMs, atMs }
      return
    }
    const passedMs = atMs - this.#seen.atMs
    if (passedMs < leastSampleMs) return
    this.#rate = (dueMs - this.#seen.dueMs) / passedMs
    this.#seen = { dueMs, atMs }
  }

  /** A checkpoint took so long from its last beginning. */
  learn(workMs: number): void {
    this.#workMs = workMs
  }

  /** What will be due, given what is now, when a checkpoint is ready that makes haste from the next look on. */
  dueWhenMadeMs(dueMs: number): number {
    return dueMs + this.#rate * (twoLooksMs + (this.#workMs ?? 0) * workMargin)
  }
}

/** In less, a single batch would make a rate. */
const leastSampleMs = 500
/** How long it may be until it is seen that haste is needed, and then that the background gives no time. */
const twoLooksMs = 2000
/** The next checkpoint may hold more, and have more beside it. */
const workMargin = 2
