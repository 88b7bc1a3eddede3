import { WalError } from '../errors.js'
import { batchOverheadBytes } from '../format/limits.js'

/**
 * Who is refused first when the disk is full. Of the last segment there is, `low` may use the first
 * half, `normal` three quarters, `high` all: work that makes new work goes before work that ends it.
 */
export type Urgency = 'low' | 'normal' | 'high'

const shareKeptBack: Record<Urgency, number> = { low: 1 / 2, normal: 1 / 4, high: 0 }

/** Room set aside for records that are still to be made. */
export interface Claim {
  readonly bytes: number
  /** Gives the room back. An append that was handed the claim has done so. */
  release(): void
}

/** What the room is measured by; asked anew at every question. */
export interface Premises {
  /** Whether no other segment can be made. */
  isStarved(): boolean
  /** The size of the current segment. */
  segmentBytes(): number
  /** What of it is written, on its way, or waiting, with what each batch adds. */
  usedBytes(): number
}

/**
 * Says whether there is room. While segments can be made there always is; a segment that is being
 * made counts, on trust, once the disk has said that it has room for it. When none can be made, the
 * rest of the current one is all there is, and each class of urgency stops short of the next.
 */
export class Room {
  readonly #premises: Premises
  #claimedBytes = 0

  constructor(premises: Premises) {
    this.#premises = premises
  }

  claim(bytes: number, urgency: Urgency): Claim {
    if (!Number.isSafeInteger(bytes) || bytes < 0) {
      throw new WalError('WAL_BAD_OPTION', `a claim of ${bytes} bytes; it has to be a whole number`)
    }
    if (shareKeptBack[urgency] === undefined) {
      throw new WalError(
        'WAL_BAD_OPTION',
        `"${urgency}" is no urgency; there are low, normal, high`,
      )
    }
    const refusal = this.refusal(bytes, urgency)
    if (refusal !== undefined) throw refusal
    // The records may turn out to need a batch of their own.
    this.#claimedBytes += bytes + batchOverheadBytes
    return new HeldClaim(this, bytes)
  }

  /** Ends the claim; says whether it was still held here. */
  spend(claim: Claim): boolean {
    if (!(claim instanceof HeldClaim) || !claim.endIn(this)) return false
    this.#claimedBytes -= claim.bytes + batchOverheadBytes
    return true
  }

  /** Why records of this size cannot be taken, or `undefined` when they can. */
  refusal(bytes: number, urgency: Urgency): WalError | undefined {
    if (!this.#premises.isStarved()) return undefined
    const segmentBytes = this.#premises.segmentBytes()
    const used = this.#premises.usedBytes() + this.#claimedBytes
    const keptBack = Math.ceil(segmentBytes * shareKeptBack[urgency])
    // Beside the records: a batch that they may have to open, and a last sync mark.
    if (used + bytes + 2 * batchOverheadBytes + keptBack <= segmentBytes) return undefined
    const left = Math.max(0, segmentBytes - used)
    return new WalError(
      'WAL_NO_SPACE',
      `the disk is full: ${left} bytes are left of the last segment, of which ${Math.min(left, keptBack)} ` +
        'are kept for more urgent records. Make room on the disk; the log goes on by itself.',
    )
  }
}

/** There is one for each record of a busy log, so it is small, and no list of them is kept. */
class HeldClaim implements Claim {
  readonly bytes: number
  /** Where it is held; nowhere when it has ended. */
  #room: Room | undefined

  constructor(room: Room, bytes: number) {
    this.#room = room
    this.bytes = bytes
  }

  release(): void {
    this.#room?.spend(this)
  }

  /** Whether it was held in this room until now. */
  endIn(room: Room): boolean {
    if (this.#room !== room) return false
    this.#room = undefined
    return true
  }
}
