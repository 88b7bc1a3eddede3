import type { Clock } from '@tenure/seams'
import { position, type State } from '@tenure/state-machine'
import { CoordinatorError } from '../errors.js'
import type { CheckpointKnobs } from './checkpoint-knobs.js'
import type { CheckpointMaker, MadeCheckpoint } from './checkpoint-maker.js'
import { chunksOf, countAllTasks } from './checkpoint-of-log.js'
import type { CheckpointedLog, Removed } from './checkpointed-log.js'
import { HistoryTrimmer } from './history-trimmer.js'
import { ReplayForecast, replayMs } from './replay-estimate.js'

export interface Checkpointed extends MadeCheckpoint {
  readonly removed: Removed
}

/** Every hook is optional; none may throw. */
export interface CheckpointObserver {
  /** A thread has begun to make a checkpoint at this LSN. */
  checkpointBegun?(lsn: number): void
  checkpointed?(made: Checkpointed): void
  /** No checkpoint could be made, or history not be removed. */
  checkpointFailed?(error: unknown): void
  /** The disk was full, and history was removed that no restart needs. */
  historyRemoved?(removed: Removed): void
}

export const checkpointHooks = {
  checkpointBegun: true,
  checkpointed: true,
  checkpointFailed: true,
  historyRemoved: true,
} as const

/**
 * `semantics` §11: keeps the time of a restart and the size of the log within bounds. A checkpoint
 * is due when half of what may be replayed lies behind the last one, so that the other half is left
 * for the records that come while it is made; and it is hurried when that may not be enough.
 */
export class Checkpointer {
  readonly #log: CheckpointedLog
  readonly #maker: CheckpointMaker
  readonly #knobs: CheckpointKnobs
  readonly #clock: Clock
  readonly #observer: CheckpointObserver
  readonly #trimmer: HistoryTrimmer
  readonly #forecast = new ReplayForecast()
  #making: Promise<Checkpointed> | undefined
  #isHurried = false
  /** What was asked for while another one was made. */
  #asked: Promise<Checkpointed> | undefined
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #isStopping = false

  constructor(parts: {
    readonly log: CheckpointedLog
    readonly maker: CheckpointMaker
    readonly knobs: CheckpointKnobs
    readonly clock: Clock
    readonly observer: CheckpointObserver
    /** Whether the log has no room for its next segment. */
    readonly isDiskFull: () => boolean
  }) {
    this.#log = parts.log
    this.#maker = parts.maker
    this.#knobs = parts.knobs
    this.#clock = parts.clock
    this.#observer = parts.observer
    this.#trimmer = new HistoryTrimmer({
      ...parts,
      onRoomMade: (removed) => this.#observer.historyRemoved?.(removed),
      onFailure: (error) => this.#tellFailed(error),
    })
  }

  /**
   * To be called every second, when the log has grown by a segment, and when the disk is full: begins
   * what is due.
   */
  tend(): void {
    if (this.#isStopping) return
    const nowMs = this.#clock.monotonicMs()
    const dueMs = replayMs(this.#log)
    this.#forecast.see(dueMs, nowMs)
    this.#trimmer.tend()
    if (this.#making !== undefined) {
      if (this.#isHurried || this.#isUrgent(dueMs)) this.#hurry()
    } else if (this.#asked === undefined && this.#isDue(dueMs) && nowMs >= this.#notBeforeMs) {
      // The observer has heard of it.
      this.#begin(false).catch(() => {})
    }
  }

  /**
   * A checkpoint of all that there is now, for somebody who waits for it. One that is under way may
   * have begun before, so another one is made behind it.
   */
  make(): Promise<Checkpointed> {
    if (this.#asked !== undefined) return this.#asked
    if (this.#making === undefined) return this.#begin(true)
    this.#hurry()
    this.#asked = this.#making
      .catch(() => {})
      .then(() => {
        this.#asked = undefined
        return this.#begin(true)
      })
    return this.#asked
  }

  /**
   * Keeps the state that was just replayed, where that was as much as may be replayed at all; to be called
   * before requests are served. A thread could do it later, but a coordinator that crashes again
   * and again may never live until the thread is done, and each life would leave more to replay.
   */
  async makeAtStart(state: State): Promise<void> {
    const { sealedLsn } = this.#log
    // An opening that declares a gap takes the state beyond it: the next one, or the thread, will do.
    if (position(state).lastLsn !== sealedLsn) return
    if (replayMs(this.#log) < this.#knobs.replayMsMax) return
    // The observer hears of a failure. Nothing is lost by it but time, at the next start.
    await this.#begin(false, () => this.#keep(state)).catch(() => {})
  }

  /** Gives up what is under way: the log has all that is needed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#maker.stop()
    await Promise.allSettled([this.#making, this.#asked])
  }

  #isDue(dueMs: number): boolean {
    const { replayMsMax } = this.#knobs
    if (dueMs < leastDueMs || dueMs < replayMsMax * leastShare) return false
    return dueMs >= replayMsMax * dueShare || this.#isUrgent(dueMs)
  }

  /** Whether a checkpoint that is made in the background from now on may be ready too late. */
  #isUrgent(dueMs: number): boolean {
    const { replayMsMax } = this.#knobs
    // Where nothing is known of how long one takes, it is needed soon from its beginning.
    const share = this.#forecast.isFounded ? urgentShare : dueShare
    return dueMs >= replayMsMax * share || this.#forecast.dueWhenMadeMs(dueMs) >= replayMsMax
  }

  #hurry(): void {
    this.#isHurried = true
    this.#maker.hurry()
  }

  #begin(isAsked: boolean, make = () => this.#make(isAsked)): Promise<Checkpointed> {
    this.#isHurried = isAsked
    this.#making = make()
      .catch((error: unknown) => {
        this.#notBeforeMs = this.#clock.monotonicMs() + againAfterMs
        this.#tellFailed(error)
        throw error
      })
      .finally(() => {
        this.#making = undefined
      })
    return this.#making
  }

  async #make(isAsked: boolean): Promise<Checkpointed> {
    this.#refuseIfStopping()
    if (isAsked || !this.#isEnoughSealed()) await this.#log.roll()
    // The maker can be stopped only once it has begun.
    this.#refuseIfStopping()
    const { sealedLsn: lsn, checkpointLsn } = this.#log
    if (lsn === checkpointLsn) return nothingNew(lsn)
    this.#observer.checkpointBegun?.(lsn)
    const making = this.#maker.make(lsn)
    if (this.#isHurried) this.#maker.hurry()
    const made = await making
    this.#forecast.learn(made.replayMs + made.writeMs)
    const checkpointed = { ...made, removed: await this.#trimmer.trimBehind(made.good) }
    this.#observer.checkpointed?.(checkpointed)
    return checkpointed
  }

  /** Without a thread: the state is there, and nothing changes it yet. */
  async #keep(state: State): Promise<Checkpointed> {
    const { sealedLsn: lsn, checkpointLsn } = this.#log
    this.#observer.checkpointBegun?.(lsn)
    const startedMs = this.#clock.monotonicMs()
    await this.#log.writeCheckpoint(lsn, chunksOf(state))
    const writeMs = this.#clock.monotonicMs() - startedMs
    // The one before has just been read.
    const good = checkpointLsn === 0 ? [lsn] : [lsn, checkpointLsn]
    const removed = await this.#trimmer.trimBehind(good)
    const made = { lsn, good, tasks: countAllTasks(state), replayed: 0, replayMs: 0, writeMs }
    this.#observer.checkpointed?.({ ...made, removed })
    return { ...made, removed }
  }

  /** Each roll costs a file: one for every attempt of many that fail would fill the disk. */
  #isEnoughSealed(): boolean {
    return replayMs(this.#log, this.#log.sealedLsn) >= this.#knobs.replayMsMax * dueShare
  }

  #refuseIfStopping(): void {
    if (this.#isStopping) throw new CoordinatorError('COORDINATOR_FAILED', givenUp)
  }

  #tellFailed(error: unknown): void {
    if (!this.#isStopping) this.#observer.checkpointFailed?.(error)
  }
}

/** Everything is in the newest checkpoint already. */
function nothingNew(lsn: number): Checkpointed {
  const none = { segments: 0, bytes: 0, checkpoints: 0 }
  return { lsn, good: [], replayed: 0, replayMs: 0, writeMs: 0, removed: none }
}

/** How much of what may be replayed lies behind the last checkpoint when the next one is begun, */
const dueShare = 1 / 2
/** or how much at least, when that would be too late. */
const leastShare = 1 / 4
/** However little may be replayed: 2,000 records, or 1.25 MiB. Each checkpoint ends a segment. */
const leastDueMs = 5

/** And when the one that is being made has to be ready soon, whatever is foreseen. */
const urgentShare = 7 / 8

const givenUp = 'the checkpoint was given up'

/** How long after a failed attempt the next one is made. */
const againAfterMs = 60_000
