import { longestMs, type Range } from '@tenure/options'

/** When to make checkpoints, and how much history to keep. */
export interface CheckpointKnobs extends HistoryLimits {
  /** How long a restart may take to replay the records after the newest checkpoint. */
  readonly replayMsMax: number
}

export const defaultCheckpointKnobs: CheckpointKnobs = {
  replayMsMax: 5000,
  historyMs: 7 * 24 * 3_600_000,
  historyBytesMax: 2 ** 30,
}

export const checkpointRanges: { readonly [K in keyof CheckpointKnobs]: Range } = {
  replayMsMax: [10, 3_600_000],
  historyMs: [0, longestMs],
  historyBytesMax: [0, 2 ** 50],
}

/** How much of the log to keep as history, beyond what a restart needs. */
export interface HistoryLimits {
  /** Remove segments that ended longer ago than this. */
  readonly historyMs: number
  /** Remove the oldest segments while the log is larger than this. */
  readonly historyBytesMax: number
}

interface Segment {
  readonly firstLsn: number
  readonly bytes: number
  readonly begunAt: number
}

/**
 * The first LSN to keep as history: the start of the oldest segment within both limits. The last
 * segment is always kept.
 */
export function historyStart(
  segments: readonly Segment[],
  { historyMs, historyBytesMax }: HistoryLimits,
  now: number,
): number {
  let bytes = 0
  let keptFrom = Number.POSITIVE_INFINITY
  for (const [index, segment] of [...segments.entries()].reverse()) {
    bytes += segment.bytes
    // A segment ends where the next one begins.
    const endedAt = segments[index + 1]?.begunAt ?? now
    const isKept = now - endedAt <= historyMs && bytes <= historyBytesMax
    if (!isKept && index < segments.length - 1) break
    keptFrom = segment.firstLsn
  }
  return keptFrom
}
