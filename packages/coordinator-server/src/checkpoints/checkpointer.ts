import type { Clock } from '../decision-time.js'
import { CoordinatorError } from '../errors.js'
import type { CheckpointKnobs } from './checkpoint-knobs.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'
import type { CheckpointedLog, Removed } from './checkpointed-log.js'
import { keepFrom } from './history-kept.js'
import { replayMs } from './replay-estimate.js'

export interface Checkpointed extends MadeCheckpoint {
  readonly removed: Removed
}

/** Every hook is optional; none may throw. */
export interface CheckpointObserver {
  /** A thread has begun to make a checkpoint at this LSN. */
  checkpointBegun?(lsn: number): void
  checkpointed?(made: Checkpointed): void
  checkpointFailed?(error: unknown): void
  /** The disk was full, and history was removed that no restart needs. */
  historyRemoved?(removed: Removed): void
}

/**
 * `semantics` §11: keeps the time of a restart and the size of the log within bounds. A checkpoint
 * is due when half of what may be replayed lies behind the last one, so that the other half is left
 * for the records that come while it is made.
 */
export class Checkpointer {
  readonly #log: CheckpointedLog
  readonly #maker: CheckpointMaker
  readonly #knobs: CheckpointKnobs
  readonly #clock: Clock
  readonly #observer: CheckpointObserver
  #making: Promise<Checkpointed> | undefined
  /** What was found good when the newest checkpoint was made. */
  #good: readonly number[] = []
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #isStopping = false

  constructor(parts: {
    readonly log: CheckpointedLog
    readonly maker: CheckpointMaker
    readonly knobs: CheckpointKnobs
    readonly clock: Clock
    readonly observer: CheckpointObserver
  }) {
    this.#log = parts.log
    this.#maker = parts.maker
    this.#knobs = parts.knobs
    this.#clock = parts.clock
    this.#observer = parts.observer
  }

  /** To be called from time to time: makes a checkpoint if one is due. */
  tend(): void {
    if (this.#isStopping) return
    const dueMs = replayMs(this.#log)
    const share = dueMs / this.#knobs.replayMsMax
    if (this.#making !== undefined) {
      if (share >= urgentShare) this.#maker.hurry()
      return
    }
    if (dueMs < leastDueMs || share < dueShare) return
    if (this.#clock.monotonicMs() < this.#notBeforeMs) return
    // The observer has heard of it.
    this.make().catch(() => {})
  }

  /** A checkpoint of now; who asks while one is made gets that one. */
  make(): Promise<Checkpointed> {
    this.#making ??= this.#make()
      .catch((error: unknown) => {
        this.#notBeforeMs = this.#clock.monotonicMs() + againAfterMs
        if (!this.#isStopping) this.#observer.checkpointFailed?.(error)
        throw error
      })
      .finally(() => {
        this.#making = undefined
      })
    return this.#making
  }

  /** The disk is full: history goes before anything is refused for want of room. */
  async makeRoom(): Promise<void> {
    if (this.#isStopping) return
    const keepFromLsn = Number.MAX_SAFE_INTEGER
    const removed = await this.#log.truncate({ verified: this.#good, keepFromLsn })
    if (removed.segments > 0) this.#observer.historyRemoved?.(removed)
  }

  /** Gives up what is under way: the log has all that is needed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#maker.stop()
    await this.#making?.catch(() => {})
  }

  async #make(): Promise<Checkpointed> {
    await this.#log.roll()
    // The maker can be stopped only once it has begun.
    if (this.#isStopping) throw new CoordinatorError('COORDINATOR_FAILED', givenUp)
    if (this.#log.sealedLsn === this.#log.checkpointLsn) return nothingNew(this.#log.checkpointLsn)
    const lsn = this.#log.sealedLsn
    this.#observer.checkpointBegun?.(lsn)
    const made = await this.#maker.make(lsn)
    this.#good = made.good
    const keepFromLsn = keepFrom(this.#log.segments, this.#knobs, this.#clock.now())
    const removed = await this.#log.truncate({ verified: made.good, keepFromLsn })
    const checkpointed = { ...made, removed }
    this.#observer.checkpointed?.(checkpointed)
    return checkpointed
  }
}

/** Everything is in the newest checkpoint already. */
function nothingNew(lsn: number): Checkpointed {
  const none = { segments: 0, bytes: 0, checkpoints: 0 }
  return { lsn, good: [], replayed: 0, replayMs: 0, writeMs: 0, removed: none }
}

/** How much of what may be replayed lies behind the last checkpoint when the next one is begun. */
const dueShare = 1 / 2
/** However little may be replayed: 2,000 records, or 1.25 MiB. Each checkpoint ends a segment. */
const leastDueMs = 5
/** And when the one that is being made has to be ready soon. */
const urgentShare = 7 / 8

const givenUp = 'the checkpoint was given up'

/** How long after a failed attempt the next one is made. */
const againAfterMs = 60_000
