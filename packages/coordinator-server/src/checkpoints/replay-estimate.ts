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
