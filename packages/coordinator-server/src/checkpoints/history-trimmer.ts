import type { Clock } from '@tenure/seams'
import { type HistoryKept, keepFrom } from './checkpoint-knobs.js'
import type { CheckpointedLog, Removed } from './checkpointed-log.js'

/**
 * Removes the history that is too old or too much; and while the disk is full, all that no restart
 * needs. What is needed, the log knows: everything behind the older of two checkpoints.
 */
export class HistoryTrimmer {
  readonly #log: CheckpointedLog
  readonly #knobs: HistoryKept
  readonly #clock: Clock
  readonly #isDiskFull: () => boolean
  readonly #onRoomMade: (removed: Removed) => void
  readonly #onFailure: (error: unknown) => void
  /** Checkpoints that were read back and are good, and when. */
  #verified: { readonly lsns: readonly number[]; readonly atMs: number } | undefined
  /** The newest checkpoint when more should have gone than the older one allowed. */
  #exhaustedAtLsn: number | undefined
  #isTrimming = false
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(parts: {
    readonly log: CheckpointedLog
    readonly knobs: HistoryKept
    readonly clock: Clock
    readonly isDiskFull: () => boolean
    /** Something was removed because the disk is full. */
    readonly onRoomMade: (removed: Removed) => void
    readonly onFailure: (error: unknown) => void
  }) {
    this.#log = parts.log
    this.#knobs = parts.knobs
    this.#clock = parts.clock
    this.#isDiskFull = parts.isDiskFull
    this.#onRoomMade = parts.onRoomMade
    this.#onFailure = parts.onFailure
  }

  /** To be called from time to time, and when the log has grown. */
  tend(): void {
    if (this.#isTrimming || this.#clock.monotonicMs() < this.#notBeforeMs || !this.#isDue()) return
    const isFull = this.#isDiskFull()
    this.#isTrimming = true
    this.#trim()
      .then(
        (removed) => {
          if (isFull && removed.segments > 0) this.#onRoomMade(removed)
        },
        (error: unknown) => {
          this.#notBeforeMs = this.#clock.monotonicMs() + againAfterMs
          this.#onFailure(error)
        },
      )
      .finally(() => {
        this.#isTrimming = false
      })
  }

  /** The same at once: these checkpoints have just been read back, and are good. */
  trimBehind(good: readonly number[]): Promise<Removed> {
    this.#verified = { lsns: good, atMs: this.#clock.monotonicMs() }
    return this.#trim()
  }

  /** Whether something has to go, and may. */
  #isDue(): boolean {
    const { segments, checkpointLsn } = this.#log
    if (checkpointLsn === 0 || checkpointLsn === this.#exhaustedAtLsn) return false
    return segments[0]!.firstLsn < this.#keepFromLsn()
  }

  async #trim(): Promise<Removed> {
    const keepFromLsn = this.#keepFromLsn()
    const removed = await this.#log.truncate({ verified: this.#stillVerified(), keepFromLsn })
    const { segments, checkpointLsn } = this.#log
    if (segments[0]!.firstLsn < keepFromLsn) this.#exhaustedAtLsn = checkpointLsn
    return removed
  }

  #keepFromLsn(): number {
    if (this.#isDiskFull()) return Number.MAX_SAFE_INTEGER
    return keepFrom(this.#log.segments, this.#knobs, this.#clock.now())
  }

  /** To read a large one back costs more than a short time can spoil. */
  #stillVerified(): readonly number[] {
    const { lsns, atMs } = this.#verified ?? { lsns: [], atMs: 0 }
    return this.#clock.monotonicMs() - atMs <= verifiedForMs ? lsns : []
  }
}

const verifiedForMs = 10 * 60_000

/** How long after a failed attempt the next one is made. */
const againAfterMs = 60_000
