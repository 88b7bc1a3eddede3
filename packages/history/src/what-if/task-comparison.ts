import type { TrackedAttempt } from '../task/attempts.js'
import type { Change, ChangeCause, Course } from './changes.js'
import type { Judgement } from './judgement.js'
import type { AttemptResult, TaskScenario } from './task-scenario.js'

type Origin = Omit<Change, 'recorded' | 'underKnobs'>

/**
 * The life of one task in two versions: as recorded, and as it would have been. Each recorded
 * attempt stands for the attempt with the same number in the other version. If the task would have
 * ended sooner, the rest of the record is dropped. If the record ends but the task would not have,
 * it runs once more and is not followed further.
 */
export class TaskComparison {
  readonly #taskId: number
  readonly #recorded: TaskScenario
  readonly #under: TaskScenario
  #origin: Origin | undefined
  #last: TrackedAttempt | undefined

  constructor(taskId: number, recorded: TaskScenario, under: TaskScenario) {
    this.#taskId = taskId
    this.#recorded = recorded
    this.#under = under
  }

  get hasEnded(): boolean {
    return this.#recorded.end !== undefined
  }

  /** Whether the rest of the record would not have happened. */
  get isOver(): boolean {
    return this.#under.end !== undefined
  }

  step(attempt: TrackedAttempt, judgement: Judgement, logEndAt: number): void {
    this.#last = attempt
    this.#recorded.run(recordedResult(attempt))
    if (attempt.lateReport !== undefined) this.#recorded.reportLate()
    if (this.isOver) {
      this.#noteSooner(logEndAt)
      return
    }
    this.#under.run(resultUnder(attempt, judgement))
    if (isLateUnder(attempt, judgement)) this.#under.reportLate()
    const cause = causeOf(attempt, judgement) ?? this.#causeOfEnds()
    if (cause !== undefined) this.#note(cause, attempt, placeOf(attempt, judgement, logEndAt))
  }

  /** A waiting task was stopped as poison, or by an administrator. */
  stop(at: number, isPoison: boolean, wouldStop: boolean): void {
    this.#recorded.finish(isPoison ? 'POISONED' : 'STOPPED')
    if (this.isOver) {
      if (this.#under.end !== this.#recorded.end) this.#noteSooner(at)
    } else if (!isPoison) {
      this.#under.finish('STOPPED')
    } else if (wouldStop && this.#under.expiriesInARow >= this.#recorded.expiriesInARow) {
      this.#under.finish('POISONED')
    } else if (this.#last !== undefined) {
      this.#note('NOT_STOPPED', this.#last, { at })
    }
  }

  /** The record of the task ends. */
  close(at: number): Change | undefined {
    const { end } = this.#recorded
    if (!this.isOver && end !== undefined) {
      if (end === 'STOPPED') this.#under.finish(end)
      else this.#under.runUnknown()
    }
    if (this.#under.end === 'POISONED' && end !== 'POISONED') this.#noteSooner(at)
    if (this.#origin === undefined) return undefined
    const [recorded, underKnobs] = [toCourse(this.#recorded), toCourse(this.#under)]
    return { ...this.#origin, recorded, underKnobs }
  }

  /** The record continues although the task would have ended. */
  #noteSooner(at: number): void {
    if (this.#last === undefined) return
    this.#note(this.#under.end === 'POISONED' ? 'STOPPED_SOONER' : 'RETRIES_USED_UP', this.#last, {
      at,
    })
  }

  #causeOfEnds(): ChangeCause | undefined {
    const isFailed = this.#under.end === 'FAILED'
    if (isFailed === (this.#recorded.end === 'FAILED')) return undefined
    return isFailed ? 'RETRIES_USED_UP' : 'RETRIES_LEFT'
  }

  /** The first difference is the cause of all others. */
  #note(
    cause: ChangeCause,
    { attempt, leaseId, workerId }: TrackedAttempt,
    place: Pick<Origin, 'at' | 'heardAt'>,
  ): void {
    this.#origin ??= { cause, taskId: this.#taskId, attempt, leaseId, workerId, ...place }
  }
}

function recordedResult(attempt: TrackedAttempt): AttemptResult {
  const { end } = attempt
  if (end === undefined) return { kind: 'OPEN' }
  if (end.outcome !== 'EXPIRED') return { kind: end.outcome }
  const { at, atStart = false } = end
  return { kind: 'EXPIRED', at, atStart, heardAt: lastHeardAt(attempt) }
}

function resultUnder(attempt: TrackedAttempt, judgement: Judgement): AttemptResult {
  switch (judgement.kind) {
    case 'kept':
      return recordedResult(attempt)
    case 'accepted':
      // The log does not contain the outcome of the late report. Assume success.
      return { kind: 'COMPLETED' }
    case 'expires':
      return { ...judgement, kind: 'EXPIRED' }
  }
}

/** A report that arrived after its lease was lost, in the record or under the knobs. */
function isLateUnder({ end, lateReport }: TrackedAttempt, { kind }: Judgement): boolean {
  if (lateReport !== undefined) return kind !== 'accepted'
  return kind === 'expires' && (end?.outcome === 'COMPLETED' || end?.outcome === 'FAILED')
}

function causeOf({ end }: TrackedAttempt, judgement: Judgement): ChangeCause | undefined {
  if (judgement.kind === 'accepted') return `${judgement.cause}_HELD`
  if (judgement.kind === 'kept' || end?.outcome === 'EXPIRED') return undefined
  return `${judgement.cause}_LOST`
}

function placeOf(attempt: TrackedAttempt, judgement: Judgement, logEndAt: number) {
  const heardAt = lastHeardAt(attempt)
  switch (judgement.kind) {
    case 'kept':
      return { at: attempt.end?.at ?? logEndAt }
    case 'accepted':
      return { heardAt, at: judgement.at }
    case 'expires':
      return { heardAt: judgement.heardAt, at: judgement.at }
  }
}

function lastHeardAt({ grantedAt, heartbeats }: TrackedAttempt): number {
  return heartbeats.at(-1)?.at ?? grantedAt
}

function toCourse({ executions, expiries: leasesExpired, end }: TaskScenario): Course {
  return end === undefined ? { executions, leasesExpired } : { executions, leasesExpired, end }
}
