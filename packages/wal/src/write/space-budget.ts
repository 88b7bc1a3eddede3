import { WalError } from '../errors.js'
import { largestExtent } from '../format/stamps.js'

/**
 * Which records are rejected first on a full disk. Of the last segment, `low` may use the first
 * half, `normal` three quarters, and `high` all. New work is rejected before records that finish
 * work.
 */
export type Urgency = 'low' | 'normal' | 'high'

const shareKeptBack: Record<Urgency, number> = { low: 1 / 2, normal: 1 / 4, high: 0 }

/** Space reserved for records that do not exist yet. */
export interface Claim {
  readonly bytes: number
  /** Returns the space. An append that is given the claim releases it. */
  release(): void
}

/** How much of the disk is used, read anew for each decision. */
export interface SpaceUsage {
  /** Whether no other segment can be created. */
  isStarved(): boolean
  /** The size of the current segment. */
  segmentBytes(): number
  /**
   * Bytes of the current segment that are written, in flight or queued, including the overhead of
   * each batch.
   */
  usedBytes(): number
}

/**
 * Decides whether records fit. There is always space while segments can be created. A segment in
 * preparation counts as soon as the disk has reported enough free space. When no segment can be
 * created, only the rest of the current one is left, and each urgency must leave space for the next
 * higher one.
 */
export class SpaceBudget {
  readonly #usage: SpaceUsage
  #claimedBytes = 0

  constructor(usage: SpaceUsage) {
    this.#usage = usage
  }

  claim(bytes: number, urgency: Urgency): Claim {
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new WalError(
        'WAL_BAD_OPTION',
        `the number of bytes to claim is ${bytes}; it must be a whole number from 0`,
      )
    }
    if (shareKeptBack[urgency] === undefined) {
      throw new WalError(
        'WAL_BAD_OPTION',
        `the urgency of the claim is "${urgency}"; it must be low, normal or high`,
      )
    }
    const refusal = this.refusal(bytes, urgency)
    if (refusal !== undefined) throw refusal
    // The records may need a batch of their own.
    this.#claimedBytes += largestExtent(bytes)
    return new ActiveClaim(this, bytes)
  }

  /** Ends the claim. Returns whether it was active in this budget. */
  spend(claim: Claim): boolean {
    if (!(claim instanceof ActiveClaim) || !claim.endIn(this)) return false
    this.#claimedBytes -= largestExtent(claim.bytes)
    return true
  }

  /** Why records of this size are rejected, or `undefined`. */
  refusal(bytes: number, urgency: Urgency): WalError | undefined {
    if (!this.#usage.isStarved()) return undefined
    const segmentBytes = this.#usage.segmentBytes()
    const used = this.#usage.usedBytes() + this.#claimedBytes
    const keptBack = Math.ceil(segmentBytes * shareKeptBack[urgency])
    // Besides the records: the batch that they may start, and a last sync mark.
    const needed = largestExtent(bytes) + largestExtent(0)
    if (used + needed + keptBack <= segmentBytes) return undefined
    const left = Math.max(0, segmentBytes - used)
    return new WalError(
      'WAL_NO_SPACE',
      `the disk is full: the last segment has ${left} bytes left, of which ${Math.min(left, keptBack)} ` +
        'are kept for more urgent records',
      { remedy: 'Free some disk space; the log then continues by itself' },
    )
  }
}

/** A busy log has one per record, so it is small and not kept in a list. */
class ActiveClaim implements Claim {
  readonly bytes: number
  /** The budget that counts it, or `undefined` after it has ended. */
  #budget: SpaceBudget | undefined

  constructor(budget: SpaceBudget, bytes: number) {
    this.#budget = budget
    this.bytes = bytes
  }

  release(): void {
    this.#budget?.spend(this)
  }

  /** Whether it was active in this budget until now. */
  endIn(budget: SpaceBudget): boolean {
    if (this.#budget !== budget) return false
    this.#budget = undefined
    return true
  }
}
