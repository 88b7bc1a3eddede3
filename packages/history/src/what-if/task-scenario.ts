import { type RetryPolicy, retryDelayMs } from '@tenure/options'
import { Durations, type Spread } from './spread.js'

/** Totals of the tasks of a history. */
export interface Outcomes {
  /** Leases granted. */
  readonly executions: number
  /** Executions after an expired lease: the work may have been done twice. */
  readonly executionsAfterExpiry: number
  readonly tasksRunAgain: number
  readonly leasesExpired: number
  /** From a worker's last sign of life to the expiry, when its task could be granted again. */
  readonly recovery: Spread
  /** Reports that were CANCELLED. */
  readonly lateReports: number
  readonly failures: number
  readonly retries: number
  /** Total time that tasks waited after failures. */
  readonly backoffMs: number
  readonly tasksCompleted: number
  /** Tasks that failed with no retry left. */
  readonly tasksFailed: number
  /** Tasks stopped after too many consecutive expiries. */
  readonly tasksPoisoned: number
  /** Tasks stopped by an administrator. */
  readonly tasksStopped: number
  /** Tasks that would have run once more, with an unknown result. */
  readonly tasksUnknown: number
}

export type Counts = { -readonly [Name in Exclude<keyof Outcomes, 'recovery'>]: Outcomes[Name] }

/** One column of a forecast. */
export class Tally {
  readonly counts: Counts = {
    executions: 0,
    executionsAfterExpiry: 0,
    tasksRunAgain: 0,
    leasesExpired: 0,
    lateReports: 0,
    failures: 0,
    retries: 0,
    backoffMs: 0,
    tasksCompleted: 0,
    tasksFailed: 0,
    tasksPoisoned: 0,
    tasksStopped: 0,
    tasksUnknown: 0,
  }
  readonly recovery = new Durations()

  outcomes(): Outcomes {
    return { ...this.counts, recovery: this.recovery.spread() }
  }
}

/** The result of one attempt. */
export type AttemptResult =
  | { readonly kind: 'COMPLETED' | 'FAILED' | 'DEAD' | 'OPEN' }
  | {
      readonly kind: 'EXPIRED'
      readonly at: number
      readonly atStart: boolean
      readonly heardAt: number
    }

export type TaskEnd = 'COMPLETED' | 'FAILED' | 'POISONED' | 'STOPPED' | 'UNKNOWN'

/** The life of one task in one column: as recorded, or as it would have been. */
export class TaskScenario {
  readonly #tally: Tally
  readonly #policy: RetryPolicy
  /** 0 disables it. */
  readonly #poisonThreshold: number
  executions = 0
  expiries = 0
  expiriesInARow = 0
  end: TaskEnd | undefined
  #failures = 0
  #hasJustExpired = false

  constructor(tally: Tally, policy: RetryPolicy, poisonThreshold: number) {
    this.#tally = tally
    this.#policy = policy
    this.#poisonThreshold = poisonThreshold
  }

  run(result: AttemptResult): void {
    this.#begin()
    this.#hasJustExpired = result.kind === 'EXPIRED'
    switch (result.kind) {
      case 'EXPIRED':
        this.#expire(result)
        break
      case 'FAILED':
        this.#fail()
        break
      case 'COMPLETED':
        this.finish('COMPLETED')
        break
      case 'DEAD':
        this.finish('STOPPED')
        break
      case 'OPEN':
    }
  }

  /** One more execution, after the end of the record. */
  runUnknown(): void {
    this.#begin()
    this.finish('UNKNOWN')
  }

  finish(end: TaskEnd): void {
    this.end = end
    this.#tally.counts[counted[end]]++
  }

  reportLate(): void {
    this.#tally.counts.lateReports++
  }

  #begin(): void {
    const { counts } = this.#tally
    this.executions++
    counts.executions++
    if (this.#hasJustExpired) counts.executionsAfterExpiry++
    if (this.executions === 2) counts.tasksRunAgain++
  }

  #expire({ at, atStart, heardAt }: Extract<AttemptResult, { kind: 'EXPIRED' }>): void {
    this.expiries++
    this.#tally.counts.leasesExpired++
    this.#tally.recovery.add(at - heardAt)
    // `semantics` §7: without a coordinator no heartbeat could be received.
    if (!atStart) this.expiriesInARow++
    if (this.#poisonThreshold > 0 && this.expiriesInARow >= this.#poisonThreshold) {
      this.finish('POISONED')
    }
  }

  #fail(): void {
    const { maxRetries, backoff } = this.#policy
    const { counts } = this.#tally
    this.#failures++
    this.expiriesInARow = 0
    counts.failures++
    if (this.#failures > maxRetries) {
      this.finish('FAILED')
      return
    }
    counts.retries++
    counts.backoffMs += retryDelayMs(backoff, this.#failures)
  }
}

const counted = {
  COMPLETED: 'tasksCompleted',
  FAILED: 'tasksFailed',
  POISONED: 'tasksPoisoned',
  STOPPED: 'tasksStopped',
  UNKNOWN: 'tasksUnknown',
} as const satisfies Record<TaskEnd, keyof Counts>
