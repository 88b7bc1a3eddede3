import type { Lsn } from './lsn.js'

/** What is wrong with a log, and which records it concerns. */
export interface Damage {
  /**
   * `corrupt`: acknowledged data is missing or changed.
   * `ambiguous`: it may be the last, never acknowledged write, or acknowledged data; nothing on the
   * disk tells which.
   */
  readonly kind: 'corrupt' | 'ambiguous'

  /** The file's name within the log's directory. */
  readonly file: string

  /** Where in the file, when the damage has a place there. */
  readonly offset?: number | undefined

  /** The first LSN that cannot be read; everything before it can. */
  readonly firstMissingLsn: Lsn

  /** The last LSN known to have been acknowledged and now missing, where something tells. */
  readonly lastMissingLsn?: Lsn | undefined

  /** What was found, and what was expected. */
  readonly why: string

  /**
   * The LSN of a good checkpoint that holds what the missing records made: no restart needs them, and
   * the log opens.
   */
  readonly coveredBy?: Lsn | undefined

  /** The loss an operator can accept to open the log all the same; absent where that cannot help. */
  readonly acceptable?: AcceptedLoss | undefined
}

/** Damage in the records before a good checkpoint. The log opens; who looks back there misses them. */
export interface HistoryDamage extends Damage {
  readonly lastMissingLsn: Lsn
  readonly coveredBy: Lsn
}

/**
 * The operator's word that what lies behind this place is lost. It has to name the exact place of
 * the damage, so that it cannot cover a damage nobody has looked at.
 */
export interface AcceptedLoss {
  readonly segment: number
  readonly offset: number
}
