import type { CheckpointKnobs } from './checkpoint-knobs.js'
import { replayedBytesPerMs } from './replay-estimate.js'

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
