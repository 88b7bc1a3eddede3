import { longestMs, type Range } from '@tenure/options'

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

export const checkpointRanges: { readonly [K in keyof CheckpointKnobs]: Range } = {
  replayMsMax: [10, 3_600_000],
  historyMs: [0, longestMs],
  historyBytesMax: [0, 2 ** 50],
}

/** How much of the log is kept for those who ask what happened, beyond what a restart needs. */
export interface HistoryKept {
  /** Segments that were ended longer ago go. */
  readonly historyMs: number
  /** When the log has more bytes than this, the oldest segments go. */
  readonly historyBytesMax: number
}

interface Segment {
  readonly firstLsn: number
  readonly bytes: number
  readonly begunAt: number
}

/**
 * The LSN from which on the log is kept, as far as the history goes: the first segment that is young
 * enough and from which on the log is small enough. The last one is always kept.
 */
export function keepFrom(
  segments: readonly Segment[],
  { historyMs, historyBytesMax }: HistoryKept,
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
