import type { CheckpointKnobs } from './checkpoint-knobs.js'
import { replayedBytesPerMs } from './replay-estimate.js'

/**
 * What the log takes at most, checkpoints not counted, as far as these knobs decide: what is written
 * from the older of two checkpoints on, until the next one is made, or the history that is kept.
 */
export function logBytesBound(knobs: CheckpointKnobs, segmentBytes: number): number {
  const betweenCheckpoints = (knobs.replayMsMax / 2) * replayedBytesPerMs
  // Beside whole segments at both ends: the next one, full of zeros.
  return Math.max(knobs.historyBytesMax, 3 * betweenCheckpoints) + 3 * segmentBytes
}
