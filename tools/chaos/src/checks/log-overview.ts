import type { LogRecord, RecordOf } from '@tenure/state-machine'
import type { Logged } from '../evidence/record-file.js'
import { numberOf } from '../work/work.js'
import { Found } from './found.js'
import type { Forgetting } from './history.js'

/** What is known of a task that has not ended. */
interface Alive {
  retriesLeft: number
}

/**
 * What only the whole log tells: that its records follow each other, that no request became two tasks,
 * and that no task was forgotten before its time. It remembers those that are alive, and of all others
 * no more than a number each.
 */
export class LogOverview {
  readonly faults = new Found()
  readonly repeated = new Found()
  readonly forgettings: Forgetting[] = []
  #forgotten = 0
  #lastLsn = 0
  #lastAt = 0
  #lastLeaseId = 0
  readonly #retentionTasks: number
  /** By number of the submission: its task. */
  readonly #tasks: number[] = []
  readonly #alive = new Map<number, Alive>()
  /** The task of each lease that has not ended. */
  readonly #leases = new Map<number, number>()
  readonly #openLeaseOf = new Map<number, number>()
  /** Of the tasks that ended and are remembered, where they ended. */
  #ended: number[] = []

  constructor(retentionTasks: number) {
    this.#retentionTasks = retentionTasks
  }

  get lastLsn(): number {
    return this.#lastLsn
  }

  /** How many tasks were forgotten. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** The task that a record is about; of a lease that is no more, the number of the lease. */
  taskOf(record: Exclude<LogRecord, { type: 'TasksForgotten' }>): number {
    if (record.type !== 'LeaseExtended') return record.taskId
    return this.#leases.get(record.leaseId) ?? record.leaseId
  }

  read({ lsn, record }: Logged): void {
    this.#require(lsn === this.#lastLsn + 1, lsn, `follows LSN ${this.#lastLsn}`)
    this.#require(record.at >= this.#lastAt, lsn, 'goes back in time')
    this.#lastLsn = lsn
    this.#lastAt = record.at
    switch (record.type) {
      case 'TaskCreated':
        this.#create(record)
        break
      case 'LeaseGranted':
        this.#grant(lsn, record)
        break
      case 'LeaseExpired':
        this.#endLease(record.taskId)
        break
      case 'TaskFailed':
        this.#fail(lsn, record.taskId)
        break
      case 'TaskCompleted':
      case 'TaskDead':
        this.#end(lsn, record.taskId)
        break
      case 'TasksForgotten':
        this.#forget(lsn, record.through)
        break
      case 'LeaseExtended':
      case 'TaskCancelled':
        break
    }
  }

  #create({ taskId, requestId = '', retryPolicy }: RecordOf<'TaskCreated'>): void {
    this.#alive.set(taskId, { retriesLeft: retryPolicy.maxRetries })
    const number = numberOf(requestId)
    this.#require(number !== undefined, taskId, `nobody made the request ${requestId}`)
    if (number === undefined) return
    const first = this.#tasks[number]
    if (first !== undefined) {
      this.repeated.add(`request ${requestId} is task ${first} and task ${taskId}`)
    }
    this.#tasks[number] = taskId
  }

  #grant(lsn: number, { taskId, leaseId }: RecordOf<'LeaseGranted'>): void {
    this.#require(leaseId > this.#lastLeaseId, lsn, `lease ${leaseId} is not above the last one`)
    this.#lastLeaseId = leaseId
    this.#leases.set(leaseId, taskId)
    this.#openLeaseOf.set(taskId, leaseId)
  }

  #fail(lsn: number, taskId: number): void {
    const task = this.#alive.get(taskId)
    if (task !== undefined && --task.retriesLeft < 0) this.#end(lsn, taskId)
    else this.#endLease(taskId)
  }

  #end(lsn: number, taskId: number): void {
    this.#endLease(taskId)
    if (this.#alive.delete(taskId)) this.#ended.push(lsn)
  }

  #endLease(taskId: number): void {
    const leaseId = this.#openLeaseOf.get(taskId)
    if (leaseId !== undefined) this.#leases.delete(leaseId)
    this.#openLeaseOf.delete(taskId)
  }

  /** 004 §2: whoever asks again has to be known again, so long as the knobs say. */
  #forget(lsn: number, through: number): void {
    this.forgettings.push({ lsn, through })
    const kept = this.#ended.filter((endedLsn) => endedLsn > through)
    this.#forgotten += this.#ended.length - kept.length
    this.#ended = kept
    const isMeant = kept.length >= this.#retentionTasks
    this.#require(isMeant, lsn, `leaves ${kept.length} of ${this.#retentionTasks} ended tasks`)
  }

  #require(holds: boolean, lsn: number, otherwise: string): void {
    if (!holds) this.faults.add(`LSN ${lsn}: ${otherwise}`)
  }
}
