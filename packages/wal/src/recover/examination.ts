import type { Damage, HistoryDamage } from '../damage.js'
import type { DecodedFileHeader, GapReason, SegmentEnd } from '../format/file-header.js'
import type { Head } from '../format/head.js'
import type { Lsn } from '../lsn.js'

/** The condition of a log's directory, as found by `examine`. */
export interface Examination {
  /** The directory holds no log yet. */
  readonly fresh: boolean
  readonly logId: Uint8Array | undefined
  /** Which shared log this log copies; 0 for a log of its own. */
  readonly era: number
  /** The content of `HEAD`. */
  readonly head: Head | string | undefined
  /** The trusted segments, oldest first. */
  readonly segments: readonly Segment[]
  readonly end: SegmentEnd
  readonly nextBatch: number
  readonly highestSequence: number
  readonly highestEpoch: number
  /** The highest LSN that may have been issued, judging by all files. */
  readonly highestLsn: Lsn
  /** The latest time on any writer's clock, including segments after the end. */
  readonly latestClockMs: number
  /** How many opens have been marked as started, judging by all files. */
  readonly starts: number
  readonly records: number
  readonly bytes: number
  readonly gaps: readonly Gap[]
  /** The newest good checkpoint. A replay starts after its LSN. */
  readonly checkpoint: DecodedFileHeader | undefined
  /** Every checkpoint that was verified, newest first. */
  readonly goodCheckpoints: readonly Lsn[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** A torn write after the end. */
  readonly torn: { readonly why: string } | undefined
  readonly damage: Damage | undefined
  /** Damage in what a checkpoint covers, as far as that was read. Recovery does not need it. */
  readonly historyDamage: readonly HistoryDamage[]
  /** Segments after the end, which accepting the loss would cut off. */
  readonly afterEnd: readonly string[]
  /** Segments that an accepted loss has cut off, and unreadable files that `HEAD` does not name yet. */
  readonly superseded: readonly string[]
  /** Segments whose creation was interrupted before they received a record. */
  readonly unfinished: readonly string[]
  /**
   * Segments that a checkpoint covers and that are not linked to the trusted ones: they precede a
   * hole, or their header is unreadable. Recovery does not need them.
   */
  readonly stranded: readonly string[]
  /** Paths of temporary files. */
  readonly leftovers: readonly string[]
}

export interface Segment {
  readonly name: string
  readonly header: DecodedFileHeader
  readonly end: SegmentEnd
}

/** A range of LSNs that was skipped on purpose. */
export interface Gap {
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly reason: Exclude<GapReason, 'none'>
}

export interface BadCheckpoint {
  readonly lsn: Lsn
  readonly why: string
}

/**
 * How much to read. `names`: names and headers only. `recovery`: everything that no checkpoint
 * covers. `everything`: every byte.
 */
export type Depth = 'names' | 'recovery' | 'everything'
