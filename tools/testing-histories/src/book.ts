import {
  apply,
  createState,
  getTask,
  type LogRecord,
  type RecordOf,
  type State,
} from '@tenure/state-machine'
import { getOffer } from '@tenure/state-machine/internal'

type Fields<T extends LogRecord['type']> = Omit<RecordOf<T>, 'type' | 'at'>

/** Fields of a submission; defaults fill in the rest. */
export type Submission = Partial<Omit<Fields<'TaskCreated'>, 'taskId'>>

/**
 * A history, written record by record as a coordinator would. Each record is applied immediately, so that
 * invalid records cannot be written. Time passes only through `wait` and `expire`.
 */
export class Book {
  readonly state: State = createState()
  readonly entries: { readonly lsn: number; readonly record: LogRecord }[] = []
  readonly openings: { readonly epoch: number; readonly firstLsn: number; readonly at: number }[] =
    []
  readonly leaseMs: number
  now: number

  constructor({ startAt = Date.UTC(2026, 0, 2, 12), leaseMs = 30_000 } = {}) {
    this.now = startAt
    this.leaseMs = leaseMs
    this.restart()
  }

  get nextLsn(): number {
    return this.entries.length + 1
  }

  /** Advances the time. */
  wait(ms: number): this {
    this.now += ms
    return this
  }

  /** Simulates that a coordinator opens the log. */
  restart(): this {
    const firstLsn = this.nextLsn
    if (this.openings.at(-1)?.firstLsn === firstLsn) this.openings.pop()
    this.openings.push({ epoch: this.openings.length + 1, firstLsn, at: this.now })
    return this
  }

  /** Returns the id of the task. */
  submit(submission: Submission = {}): number {
    return this.#write('TaskCreated', {
      taskId: this.nextLsn,
      payload: Buffer.from('work'),
      executionWindowMs: 3_600_000,
      retryPolicy: { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 1000 } },
      ...submission,
    })
  }

  /** Returns the id of the lease. */
  lease(taskId: number, workerId = 'w-1'): number {
    const { attempt, executionWindowMs } = getOffer(this.state, taskId)!
    return this.#write('LeaseGranted', {
      taskId,
      leaseId: this.nextLsn,
      workerId,
      attempt: attempt + 1,
      leaseExpiry: this.now + Math.min(this.leaseMs, executionWindowMs),
    })
  }

  /** Extends the lease, as a heartbeat does. */
  extend(leaseId: number): number {
    const { executionWindowMs, grantedAt } = this.#ofLease(leaseId)
    const windowEnd = grantedAt + executionWindowMs
    const newLeaseExpiry = Math.min(this.now + this.leaseMs, windowEnd)
    return this.#write('LeaseExtended', { leaseId, newLeaseExpiry })
  }

  /** Expires the lease, by a running coordinator or by one that starts. */
  expire(leaseId: number, atStart = false): number {
    const { taskId, leaseExpiry } = this.#ofLease(leaseId)
    this.now = Math.max(this.now, leaseExpiry)
    return this.#write('LeaseExpired', { taskId, leaseId, atStart })
  }

  complete(leaseId: number, more: Partial<Fields<'TaskCompleted'>> = {}): number {
    return this.#write('TaskCompleted', { taskId: this.#ofLease(leaseId).taskId, leaseId, ...more })
  }

  fail(leaseId: number, failureReason = 'it broke', reportId?: string): number {
    const { taskId } = this.#ofLease(leaseId)
    const named = reportId === undefined ? {} : { reportId }
    return this.#write('TaskFailed', { taskId, leaseId, failureReason, ...named })
  }

  /** Records a report under a lease that has lost its authority. */
  cancel(leaseId: number): number {
    return this.#write('TaskCancelled', { taskId: this.#ofLease(leaseId).taskId, leaseId })
  }

  kill(taskId: number, reason = 'an operator said so'): number {
    return this.#write('TaskDead', { taskId, reason })
  }

  forget(through: number): number {
    return this.#write('TasksForgotten', { through })
  }

  #ofLease(leaseId: number) {
    const granted = this.entries[leaseId - 1]?.record
    if (granted?.type !== 'LeaseGranted') throw new Error(`LSN ${leaseId} grants no lease`)
    const { taskId, at: grantedAt } = granted
    const task = getTask(this.state, taskId)!
    const attempt = task.attempts.find((attempt) => attempt.leaseId === leaseId)!
    const { executionWindowMs } = task
    return { taskId, grantedAt, executionWindowMs, leaseExpiry: attempt.leaseExpiry }
  }

  #write<T extends LogRecord['type']>(type: T, fields: Fields<T>): number {
    const lsn = this.nextLsn
    const record = { type, at: this.now, ...fields } as unknown as LogRecord
    apply(this.state, lsn, record)
    this.entries.push({ lsn, record })
    return lsn
  }
}
