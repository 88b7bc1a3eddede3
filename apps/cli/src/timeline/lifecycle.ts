import type { Entry } from '@tenure/history'
import { type RetryPolicy, retryDelayMs } from '@tenure/options'
import type { RecordOf, TaskState } from '@tenure/state-machine'

/** A time without a lease. */
export interface Wait {
  readonly from: number
  /** Later than `from` after a failure with backoff, or a delayed submission. */
  readonly eligibleAt: number
  /** Absent while the wait lasts. */
  readonly to?: number | undefined
  /** The lease that ended it. */
  readonly leaseId?: number | undefined
}

/** Follows the state and the waits of a task through its records. */
export class TaskLifecycle {
  readonly waits: Wait[] = []
  queue = ''
  state: TaskState | undefined
  attempts = 0
  #policy: RetryPolicy | undefined
  #failures = 0
  #waiting: Wait | undefined

  add({ record }: Entry): void {
    switch (record.type) {
      case 'TaskCreated':
        this.queue = record.queue ?? 'default'
        this.#policy = record.retryPolicy
        this.#wait(record.at, Math.max(record.at, record.notBefore ?? 0))
        break
      case 'LeaseGranted':
        this.attempts = record.attempt
        this.#end('LEASED', record.at, record.leaseId)
        break
      case 'LeaseExpired':
        this.#wait(record.at, record.at)
        break
      case 'TaskFailed':
        this.#fail(record)
        break
      case 'TaskCompleted':
        this.#end('COMPLETED', record.at)
        break
      case 'TaskDead':
        this.#end('DEAD', record.at)
        break
      default:
    }
  }

  /** Finished waits, and the current one. */
  get allWaits(): readonly Wait[] {
    return this.#waiting === undefined ? this.waits : [...this.waits, this.#waiting]
  }

  #fail({ at }: RecordOf<'TaskFailed'>): void {
    this.#failures++
    const policy = this.#policy
    if (policy === undefined) this.state = undefined
    else if (this.#failures > policy.maxRetries) this.#end('FAILED', at)
    else this.#wait(at, at + retryDelayMs(policy.backoff, this.#failures))
  }

  #wait(from: number, eligibleAt: number): void {
    this.state = 'WAITING'
    this.#waiting = { from, eligibleAt }
  }

  #end(state: TaskState, to: number, leaseId?: number): void {
    this.state = state
    if (this.#waiting !== undefined) {
      this.waits.push({ ...this.#waiting, to, leaseId })
    }
    this.#waiting = undefined
  }
}
