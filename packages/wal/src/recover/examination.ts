import type { Damage, HistoryDamage } from '../damage.js'
import type { DecodedFileHeader, GapReason, SegmentEnd } from '../format/file-header.js'
import type { Head } from '../format/head.js'
import type { Lsn } from '../lsn.js'

/** What a log's directory is worth, as `examine` found it. */
export interface Examination {
  /** There is no log yet. */
  readonly fresh: boolean
  readonly logId: Uint8Array | undefined
  /** What `HEAD` named. */
  readonly head: Head | string | undefined
  /** The trusted segments, oldest first. */
  readonly segments: readonly Segment[]
  readonly end: SegmentEnd
  readonly nextBatch: number
  readonly highestSequence: number
  readonly highestEpoch: number
  /** The highest LSN that may have been issued, as far as anything here tells. */
  readonly highestLsn: Lsn
  /** The latest time of any writer's clock, also in segments behind the end. */
  readonly latestClockMs: number
  /** How many openings have been marked as started, as far as anything here tells. */
  readonly starts: number
  readonly records: number
  readonly bytes: number
  readonly gaps: readonly Gap[]
  /** The newest good checkpoint; what lies before its LSN need not be replayed. */
  readonly checkpoint: DecodedFileHeader | undefined
  /** Every checkpoint found good so far, newest first. */
  readonly goodCheckpoints: readonly Lsn[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** A write that never returned, behind the end. */
  readonly torn: { readonly contentEnd: number; readonly why: string } | undefined
  readonly damage: Damage | undefined
  /** What is wrong with what a checkpoint covers, as far as it was read. No recovery needs it. */
  readonly historyDamage: readonly HistoryDamage[]
  /** Segments behind the end, which an accepted loss cuts off. */
  readonly beyond: readonly string[]
  /** Segments that an accepted loss has cut off already. */
  readonly superseded: readonly string[]
  /** Segments whose making was interrupted before they took a record. */
  readonly unfinished: readonly string[]
  /**
   * Segments that a checkpoint covers and that nothing links to the trusted ones: those before a hole,
   * and those whose header cannot be read. Recovery does not need them.
   */
  readonly stranded: readonly string[]
  /** Temporary files, by their path. */
  readonly leftovers: readonly string[]
}

export interface Segment {
  readonly name: string
  readonly header: DecodedFileHeader
  readonly end: SegmentEnd
}

/** LSNs that were never issued, because the log was continued beyond them on purpose. */
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
 * `names` reads names and headers only, `recovery` leaves out what a checkpoint covers, `everything`
 * reads every byte there is.
 */
export type Depth = 'names' | 'recovery' | 'everything'
