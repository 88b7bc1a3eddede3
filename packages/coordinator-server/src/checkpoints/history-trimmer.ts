import type { Clock } from '@tenure/seams'
import { type HistoryLimits, historyStart } from './checkpoint-knobs.js'
import type { CheckpointedLog, Removed } from './checkpointed-log.js'

/**
 * Removes history that is over its limits. While the disk is full, it removes everything that no restart
 * needs; the log keeps all records after the older of two checkpoints.
 */
export class HistoryTrimmer {
  readonly #log: CheckpointedLog
  readonly #knobs: HistoryLimits
  readonly #clock: Clock
  readonly #isDiskFull: () => boolean
  readonly #onSpaceFreed: (removed: Removed) => void
  readonly #onFailure: (error: unknown) => void
  /** Checkpoints that were read back and verified. */
  #verified: { readonly lsns: readonly number[]; readonly atMs: number } | undefined
  /** The newest checkpoint at the time when the older one last prevented removing more. */
  #exhaustedAtLsn: number | undefined
  #isTrimming = false
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(parts: {
    readonly log: CheckpointedLog
    readonly knobs: HistoryLimits
    readonly clock: Clock
    readonly isDiskFull: () => boolean
    /** Segments were removed because the disk is full. */
    readonly onSpaceFreed: (removed: Removed) => void
    readonly onFailure: (error: unknown) => void
  }) {
    this.#log = parts.log
    this.#knobs = parts.knobs
    this.#clock = parts.clock
    this.#isDiskFull = parts.isDiskFull
    this.#onSpaceFreed = parts.onSpaceFreed
    this.#onFailure = parts.onFailure
  }

  /** Trims the log if that is due. Call it regularly and when the log has grown. */
  tick(): void {
    if (this.#isTrimming || this.#clock.monotonicMs() < this.#notBeforeMs || !this.#isDue()) return
    const isFull = this.#isDiskFull()
    this.#isTrimming = true
    this.#trim()
      .then(
        (removed) => {
          if (isFull && removed.segments > 0) this.#onSpaceFreed(removed)
        },
        (error: unknown) => {
          this.#notBeforeMs = this.#clock.monotonicMs() + retryDelayMs
          this.#onFailure(error)
        },
      )
      .finally(() => {
        this.#isTrimming = false
      })
  }

  /** Trims the log immediately, given checkpoints that were just verified. */
  trimBehind(good: readonly number[]): Promise<Removed> {
    this.#verified = { lsns: good, atMs: this.#clock.monotonicMs() }
    return this.#trim()
  }

  /** Whether there is history to remove that the checkpoints allow to be removed. */
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
    return historyStart(this.#log.segments, this.#knobs, this.#clock.now())
  }

  /** Verified checkpoints stay trusted for a while: reading a large one back is expensive. */
  #stillVerified(): readonly number[] {
    const { lsns, atMs } = this.#verified ?? { lsns: [], atMs: 0 }
    return this.#clock.monotonicMs() - atMs <= verifiedForMs ? lsns : []
  }
}

const verifiedForMs = 10 * 60_000

/** Delay before the next attempt after a failure. */
const retryDelayMs = 60_000
