import type { HistoryKept } from './history-kept.js'

/** When checkpoints are made, and what is kept beside them. */
export interface CheckpointKnobs extends HistoryKept {
  /** How long a restart may have to replay records behind the newest checkpoint. */
  readonly replayMsMax: number
}

export const defaultCheckpointKnobs: CheckpointKnobs = {
  replayMsMax: 5000,
  historyMs: 7 * 24 * 3_600_000,
  historyBytesMax: 2 ** 30,
}

export const checkpointRanges: {
  readonly [K in keyof CheckpointKnobs]: readonly [min: number, max: number]
} = {
  replayMsMax: [10, 3_600_000],
  historyMs: [0, 2 ** 45],
  historyBytesMax: [0, 2 ** 50],
}
