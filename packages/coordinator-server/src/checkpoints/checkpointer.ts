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
  /** A thread has started a checkpoint at this LSN. */
  checkpointBegun?(lsn: number): void
  checkpointed?(made: Checkpointed): void
  /** A checkpoint failed, or history could not be removed. */
  checkpointFailed?(error: unknown): void
  /** The disk was full, so history that no restart needs was removed. */
  historyRemoved?(removed: Removed): void
}

export const checkpointHooks = {
  checkpointBegun: true,
  checkpointed: true,
  checkpointFailed: true,
  historyRemoved: true,
} as const

/**
 * `semantics` §11: bounds restart time and log size. A checkpoint starts when half of the replay budget
 * is used; the other half is for records that arrive while the checkpoint is made. The checkpoint
 * becomes urgent when that half may not be enough.
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
  /** A requested checkpoint that starts after the running one. */
  #requested: Promise<Checkpointed> | undefined
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #isStopping = false

  constructor(parts: {
    readonly log: CheckpointedLog
    readonly maker: CheckpointMaker
    readonly knobs: CheckpointKnobs
    readonly clock: Clock
    readonly observer: CheckpointObserver
    /** Whether the log has no space for its next segment. */
    readonly isDiskFull: () => boolean
  }) {
    this.#log = parts.log
    this.#maker = parts.maker
    this.#knobs = parts.knobs
    this.#clock = parts.clock
    this.#observer = parts.observer
    this.#trimmer = new HistoryTrimmer({
      ...parts,
      onSpaceFreed: (removed) => this.#observer.historyRemoved?.(removed),
      onFailure: (error) => this.#reportFailure(error),
    })
  }

  /**
   * Starts a checkpoint or a trim that is due. Call it every second, after the log starts a segment, and
   * when the disk is full.
   */
  tick(): void {
    if (this.#isStopping) return
    const nowMs = this.#clock.monotonicMs()
    const dueMs = replayMs(this.#log)
    this.#forecast.addSample(dueMs, nowMs)
    this.#trimmer.tick()
    if (this.#making !== undefined) {
      if (this.#isHurried || this.#isUrgent(dueMs)) this.#hurry()
    } else if (this.#requested === undefined && this.#isDue(dueMs) && nowMs >= this.#notBeforeMs) {
      // The observer has already received the error.
      this.#begin(false).catch(() => {})
    }
  }

  /**
   * Makes a checkpoint of the current state for a caller. A running checkpoint may have started too
   * early to include it, so another one follows.
   */
  make(): Promise<Checkpointed> {
    if (this.#requested !== undefined) return this.#requested
    if (this.#making === undefined) return this.#begin(true)
    this.#hurry()
    this.#requested = this.#making
      .catch(() => {})
      .then(() => {
        this.#requested = undefined
        return this.#begin(true)
      })
    return this.#requested
  }

  /**
   * Writes a checkpoint of the replayed state when the replay used the whole budget. Call it before
   * requests are served. The thread could make the checkpoint later, but a coordinator that keeps crashing may
   * never live long enough for that, and each run would add records to replay.
   */
  async makeAtStart(state: State): Promise<void> {
    const { sealedLsn } = this.#log
    // After an open that declares a gap, the state is past the sealed LSN; a later checkpoint covers it.
    if (position(state).lastLsn !== sealedLsn) return
    if (replayMs(this.#log) < this.#knobs.replayMsMax) return
    // The observer receives the error. A failure only makes the next startup slower.
    await this.#begin(false, () => this.#keep(state)).catch(() => {})
  }

  /** Abandons a running checkpoint; the log already holds everything that a restart needs. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#maker.stop()
    await Promise.allSettled([this.#making, this.#requested])
  }

  #isDue(dueMs: number): boolean {
    const { replayMsMax } = this.#knobs
    if (dueMs < minDueMs || dueMs < replayMsMax * minShare) return false
    return dueMs >= replayMsMax * dueShare || this.#isUrgent(dueMs)
  }

  /** Whether a background checkpoint that starts now may finish too late. */
  #isUrgent(dueMs: number): boolean {
    const { replayMsMax } = this.#knobs
    // Without a measured duration, treat the checkpoint as urgent from its start.
    const share = this.#forecast.hasDuration ? urgentShare : dueShare
    return dueMs >= replayMsMax * share || this.#forecast.replayWhenDoneMs(dueMs) >= replayMsMax
  }

  #hurry(): void {
    this.#isHurried = true
    this.#maker.hurry()
  }

  #begin(isRequested: boolean, make = () => this.#make(isRequested)): Promise<Checkpointed> {
    this.#isHurried = isRequested
    this.#making = make()
      .catch((error: unknown) => {
        this.#notBeforeMs = this.#clock.monotonicMs() + retryDelayMs
        this.#reportFailure(error)
        throw error
      })
      .finally(() => {
        this.#making = undefined
      })
    return this.#making
  }

  async #make(isRequested: boolean): Promise<Checkpointed> {
    this.#refuseIfStopping()
    if (isRequested || !this.#isEnoughSealed()) await this.#log.roll()
    // `stop` may have run during the roll, before there was a maker to stop.
    this.#refuseIfStopping()
    const { sealedLsn: lsn, checkpointLsn } = this.#log
    if (lsn === checkpointLsn) return nothingNew(lsn)
    this.#observer.checkpointBegun?.(lsn)
    const making = this.#maker.make(lsn)
    if (this.#isHurried) this.#maker.hurry()
    const made = await making
    this.#forecast.setDuration(made.replayMs + made.writeMs)
    const checkpointed = { ...made, removed: await this.#trimmer.trimBehind(made.good) }
    this.#observer.checkpointed?.(checkpointed)
    return checkpointed
  }

  /** Runs without a thread: the state is in memory and nothing changes it yet. */
  async #keep(state: State): Promise<Checkpointed> {
    const { sealedLsn: lsn, checkpointLsn } = this.#log
    this.#observer.checkpointBegun?.(lsn)
    const startedMs = this.#clock.monotonicMs()
    await this.#log.writeCheckpoint(lsn, chunksOf(state))
    const writeMs = this.#clock.monotonicMs() - startedMs
    // The previous checkpoint has just been read during recovery.
    const good = checkpointLsn === 0 ? [lsn] : [lsn, checkpointLsn]
    const removed = await this.#trimmer.trimBehind(good)
    const made = { lsn, good, tasks: countAllTasks(state), replayed: 0, replayMs: 0, writeMs }
    this.#observer.checkpointed?.({ ...made, removed })
    return { ...made, removed }
  }

  /** Each roll creates a file; one per failed attempt would fill the disk. */
  #isEnoughSealed(): boolean {
    return replayMs(this.#log, this.#log.sealedLsn) >= this.#knobs.replayMsMax * dueShare
  }

  #refuseIfStopping(): void {
    if (this.#isStopping) throw new CoordinatorError('COORDINATOR_FAILED', stopping)
  }

  #reportFailure(error: unknown): void {
    if (!this.#isStopping) this.#observer.checkpointFailed?.(error)
  }
}

/** The newest checkpoint already contains everything. */
function nothingNew(lsn: number): Checkpointed {
  const none = { segments: 0, bytes: 0, checkpoints: 0 }
  return { lsn, good: [], replayed: 0, replayMs: 0, writeMs: 0, removed: none }
}

/** Start a checkpoint at this share of the replay budget. */
const dueShare = 1 / 2
/** Never start one below this share, however urgent. */
const minShare = 1 / 4
/** Minimum replay time to checkpoint: 2,000 records or 1.25 MiB. Each checkpoint ends a segment. */
const minDueMs = 5

/** Above this share, a running checkpoint is urgent regardless of the forecast. */
const urgentShare = 7 / 8

const stopping = 'the coordinator makes no checkpoint while it stops; try again after the restart'

/** Delay before the next attempt after a failure. */
const retryDelayMs = 60_000
