import type { LogRecord, RecordOf } from '@tenure/state-machine'
import type { Logged } from '../evidence/record-file.js'
import { numberOf } from '../work/work.js'
import { FaultSample } from './fault-sample.js'
import type { Forgetting } from './history.js'

/** A task that has not ended. */
interface Alive {
  retriesLeft: number
}

/**
 * Checks that need the whole log: records are consecutive, no request became two tasks, no task was
 * forgotten early. It remembers live tasks, and only a number for each of the others.
 */
export class LogOverview {
  readonly faults = new FaultSample()
  readonly repeated = new FaultSample()
  readonly forgettings: Forgetting[] = []
  #forgotten = 0
  #lastLsn = 0
  #lastAt = 0
  #lastLeaseId = 0
  readonly #retentionTasks: number
  /** Task id, by number of the submission. */
  readonly #tasks: number[] = []
  readonly #alive = new Map<number, Alive>()
  /** The task of each lease that has not ended. */
  readonly #leases = new Map<number, number>()
  readonly #openLeaseOf = new Map<number, number>()
  /** LSNs at which the ended tasks that are still remembered ended. */
  #ended: number[] = []

  constructor(retentionTasks: number) {
    this.#retentionTasks = retentionTasks
  }

  get lastLsn(): number {
    return this.#lastLsn
  }

  /** Number of forgotten tasks. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** The task of a record; if its lease no longer exists, the id of the lease. */
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
    this.#require(number !== undefined, taskId, `request ${requestId} was never sent`)
    if (number === undefined) return
    const first = this.#tasks[number]
    if (first !== undefined) {
      this.repeated.add(`request ${requestId} is task ${first} and task ${taskId}`)
    }
    this.#tasks[number] = taskId
  }

  #grant(lsn: number, { taskId, leaseId }: RecordOf<'LeaseGranted'>): void {
    this.#require(leaseId > this.#lastLeaseId, lsn, `lease ${leaseId} is not above the one before`)
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

  /** 004 §2: a repeated request must be recognised for as long as the options say. */
  #forget(lsn: number, through: number): void {
    this.forgettings.push({ lsn, through })
    const kept = this.#ended.filter((endedLsn) => endedLsn > through)
    this.#forgotten += this.#ended.length - kept.length
    this.#ended = kept
    const isMeant = kept.length >= this.#retentionTasks
    this.#require(isMeant, lsn, `keeps ${kept.length} ended tasks, not ${this.#retentionTasks}`)
  }

  #require(holds: boolean, lsn: number, otherwise: string): void {
    if (!holds) this.faults.add(`LSN ${lsn}: ${otherwise}`)
  }
}
