import type { Lsn } from './lsn.js'

/** Describes damage to a log and the records that it affects. */
export interface Damage {
  /**
   * `corrupt`: acknowledged data is missing or changed.
   * `ambiguous`: the damaged data is either the last write, which was never acknowledged, or
   * acknowledged data. The disk does not show which.
   */
  readonly kind: 'corrupt' | 'ambiguous'

  /** Path of the file, relative to the log's directory. */
  readonly file: string

  /** Byte offset of the damage in the file, if it has one. */
  readonly offset?: number | undefined

  /** The first LSN that cannot be read. Every LSN before it can. */
  readonly firstMissingLsn: Lsn

  /** The last missing LSN that is known to have been acknowledged. */
  readonly lastMissingLsn?: Lsn | undefined

  /** The finding, and the expected content. */
  readonly why: string

  /**
   * The LSN of a good checkpoint that includes the missing records. The log still opens, because a
   * restart does not need them.
   */
  readonly coveredBy?: Lsn | undefined

  /** The loss that an operator can accept to open the log. Absent if accepting a loss would not help. */
  readonly acceptable?: AcceptedLoss | undefined
}

/** Damage in records that a good checkpoint covers. The log opens, but reads of its history fail there. */
export interface HistoryDamage extends Damage {
  readonly lastMissingLsn: Lsn
  readonly coveredBy: Lsn
}

/**
 * An operator's statement that everything after this place is lost. It must name the exact place of
 * the damage, so that it cannot hide damage that was not inspected.
 */
export interface AcceptedLoss {
  readonly segment: number
  readonly offset: number
}
