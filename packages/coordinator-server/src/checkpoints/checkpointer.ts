import type { Clock } from '../decision-time.js'
import { CoordinatorError } from '../errors.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'
import { type HistoryKept, keepFrom } from './history-kept.js'

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

export const checkpointRanges: {
  readonly [K in keyof CheckpointKnobs]: readonly [min: number, max: number]
} = {
  replayMsMax: [10, 3_600_000],
  historyMs: [0, 2 ** 45],
  historyBytesMax: [0, 2 ** 50],
}

/** What a log can do for it. */
export interface CheckpointedLog {
  readonly nextLsn: number
  readonly sealedLsn: number
  readonly checkpointLsn: number
  /** LSNs for which there are no records. */
  readonly gaps: readonly { readonly firstLsn: number; readonly lastLsn: number }[]
  readonly segments: readonly {
    readonly firstLsn: number
    readonly bytes: number
    readonly begunAt: number
  }[]
  roll(): Promise<void>
  truncate(options: {
    readonly verified: readonly number[]
    readonly keepFromLsn: number
  }): Promise<Removed>
}

interface Removed {
  readonly segments: number
  readonly bytes: number
  readonly checkpoints: number
}

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
    const share = replayMs(this.#log) / this.#knobs.replayMsMax
    if (this.#making !== undefined) {
      if (share >= urgentShare) this.#maker.hurry()
      return
    }
    if (share < dueShare || this.#clock.monotonicMs() < this.#notBeforeMs) return
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

/** How long the records behind the newest checkpoint would take, by what a slow machine replays. */
export function replayMs({ nextLsn, checkpointLsn, segments, gaps }: CheckpointedLog): number {
  const missing = gaps.reduce(
    (sum, { firstLsn, lastLsn }) =>
      sum + Math.max(0, lastLsn - Math.max(firstLsn - 1, checkpointLsn)),
    0,
  )
  const records = nextLsn - 1 - checkpointLsn - missing
  const bytes = segments
    .filter(({ firstLsn }) => firstLsn > checkpointLsn)
    .reduce((sum, segment) => sum + segment.bytes, 0)
  return Math.max(records / replayedPerMs, bytes / replayedBytesPerMs)
}

/** What a restart reads, checks and applies in a millisecond at least, on two slow cores. */
const replayedPerMs = 400
const replayedBytesPerMs = 256 * 1024

/**
 * What the log takes at most, checkpoints not counted, as far as these knobs decide: what is written
 * from the older of two checkpoints on, until the next one is made, or the history that is kept.
 */
export function logBytesBound(knobs: CheckpointKnobs, segmentBytes: number): number {
  const betweenCheckpoints = (knobs.replayMsMax / 2) * replayedBytesPerMs
  // Beside whole segments at both ends: the next one, full of zeros.
  return Math.max(knobs.historyBytesMax, 3 * betweenCheckpoints) + 3 * segmentBytes
}

/** How much of what may be replayed lies behind the last checkpoint when the next one is begun. */
const dueShare = 1 / 2
/** And when the one that is being made has to be ready soon. */
const urgentShare = 7 / 8

const givenUp = 'the checkpoint was given up'

/** How long after a failed attempt the next one is made. */
const againAfterMs = 60_000
