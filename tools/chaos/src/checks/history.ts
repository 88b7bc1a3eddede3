import type { LogRecord, RecordOf, RecordType } from '@tenure/state-machine'
import type { Logged } from '../evidence/record-file.js'

/** One lease, from the record that granted it to the one that ended it. */
export interface Grant {
  readonly taskId: number
  readonly leaseId: number
  readonly attempt: number
  readonly worker: string
  /** After the last extension. */
  expiry: number
  end?: {
    readonly how: 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
    readonly result?: string | undefined
  }
  /** Number of TaskCancelled records for it. */
  cancelled: number
}

export interface TaskHistory {
  readonly taskId: number
  readonly requestId: string
  readonly payload: Uint8Array
  readonly maxRetries: number
  readonly grants: Grant[]
  failures: number
  /** The terminal states of the task, in the order of the log: there should be one. */
  readonly ends: ('COMPLETED' | 'FAILED' | 'DEAD')[]
  /** LSN of the first terminal state. */
  endedLsn?: number
}

/** A decision to drop all tasks that have ended at or before an LSN. */
export interface Forgetting {
  readonly lsn: number
  readonly through: number
}

/** The history of each task and each lease in a log. */
export interface History {
  readonly tasks: ReadonlyMap<number, TaskHistory>
  readonly leases: ReadonlyMap<number, Grant>
  readonly counts: Readonly<Record<RecordType, number>>
  /** Every task that ended at or before this LSN is forgotten. */
  readonly forgottenThrough: number
  /** Violations of the specification, each with its LSN. */
  readonly faults: readonly string[]
}

/**
 * Reads the history of some tasks from their records and from all decisions to forget. It follows
 * the specification alone and shares no code with the state machine, so that it cannot share its
 * mistakes.
 */
export function readHistory(
  logged: readonly Logged[],
  forgettings: readonly Forgetting[],
): History {
  const reader = new HistoryReader(forgettings)
  for (const { lsn, record } of logged) reader.read(lsn, record)
  reader.end()
  return reader
}

/** Whether the task ended at or before this LSN. */
export function isBehind({ endedLsn }: TaskHistory, lsn: number): boolean {
  return endedLsn !== undefined && endedLsn <= lsn
}

function end(task: TaskHistory | undefined, lsn: number, how: TaskHistory['ends'][number]): void {
  if (task === undefined) return
  task.ends.push(how)
  task.endedLsn ??= lsn
}

class HistoryReader implements History {
  readonly tasks = new Map<number, TaskHistory>()
  readonly leases = new Map<number, Grant>()
  readonly faults: string[] = []
  readonly counts: Record<RecordType, number> = {
    TaskCreated: 0,
    LeaseGranted: 0,
    LeaseExtended: 0,
    LeaseExpired: 0,
    TaskCompleted: 0,
    TaskFailed: 0,
    TaskCancelled: 0,
    TaskDead: 0,
    TasksForgotten: 0,
  }
  readonly #forgettings: readonly Forgetting[]
  #nextForgetting = 0
  #forgottenThrough = 0

  constructor(forgettings: readonly Forgetting[]) {
    this.#forgettings = forgettings
  }

  get forgottenThrough(): number {
    return this.#forgottenThrough
  }

  read(lsn: number, record: LogRecord): void {
    this.counts[record.type]++
    this.#forgetUntil(lsn)
    switch (record.type) {
      case 'TaskCreated':
        this.#create(record)
        break
      case 'LeaseGranted':
        this.#grant(lsn, record)
        break
      case 'LeaseExtended':
        this.#extend(lsn, record)
        break
      case 'LeaseExpired':
        this.#expire(lsn, record)
        break
      case 'TaskCompleted':
      case 'TaskFailed':
        this.#report(lsn, record)
        break
      case 'TaskCancelled':
        this.#cancel(lsn, record)
        break
      case 'TaskDead':
        this.#kill(lsn, record)
        break
      case 'TasksForgotten':
        break
    }
  }

  end(): void {
    this.#forgetUntil(Number.POSITIVE_INFINITY)
  }

  #forgetUntil(lsn: number): void {
    for (;;) {
      const forgetting = this.#forgettings[this.#nextForgetting]
      if (forgetting === undefined || forgetting.lsn >= lsn) return
      this.#forgottenThrough = Math.max(this.#forgottenThrough, forgetting.through)
      this.#nextForgetting++
    }
  }

  #create(record: RecordOf<'TaskCreated'>): void {
    const { taskId, requestId = '', payload, retryPolicy } = record
    const { maxRetries } = retryPolicy
    const lists = { grants: [], ends: [], failures: 0 }
    this.tasks.set(taskId, { taskId, requestId, payload, maxRetries, ...lists })
  }

  #grant(lsn: number, record: RecordOf<'LeaseGranted'>): void {
    const { taskId, leaseId, attempt, workerId: worker, leaseExpiry: expiry } = record
    const task = this.#task(lsn, taskId)
    if (task === undefined) return
    const open = task.grants.find((grant) => grant.end === undefined)
    this.#require(open === undefined, lsn, `task ${taskId} already has the lease ${open?.leaseId}`)
    this.#require(task.ends.length === 0, lsn, `task ${taskId} has ended and is leased`)
    const grant = { taskId, leaseId, attempt, worker, expiry, cancelled: 0 }
    this.#require(attempt === task.grants.length + 1, lsn, `attempt ${attempt} is out of order`)
    task.grants.push(grant)
    this.leases.set(leaseId, grant)
  }

  #extend(lsn: number, { leaseId, newLeaseExpiry, at }: RecordOf<'LeaseExtended'>): void {
    const grant = this.#openGrant(lsn, leaseId)
    if (grant === undefined) return
    this.#require(at < grant.expiry, lsn, `lease ${leaseId} is extended after its expiry`)
    grant.expiry = newLeaseExpiry
  }

  #expire(lsn: number, { leaseId, at }: RecordOf<'LeaseExpired'>): void {
    const grant = this.#openGrant(lsn, leaseId)
    if (grant === undefined) return
    this.#require(at >= grant.expiry, lsn, `lease ${leaseId} is ended before its expiry`)
    grant.end = { how: 'EXPIRED' }
  }

  #report(lsn: number, record: RecordOf<'TaskCompleted'> | RecordOf<'TaskFailed'>): void {
    const { leaseId, at } = record
    const grant = this.#openGrant(lsn, leaseId)
    this.#require(grant === undefined || at < grant.expiry, lsn, `lease ${leaseId} had expired`)
    // The task has ended, even if this report had no right to end it.
    const task = this.#task(lsn, record.taskId)
    if (record.type === 'TaskCompleted') {
      const result = record.result && Buffer.from(record.result).toString()
      if (grant) grant.end = { how: 'COMPLETED', result }
      end(task, lsn, 'COMPLETED')
    } else {
      if (grant) grant.end = { how: 'FAILED' }
      if (task && ++task.failures > task.maxRetries) end(task, lsn, 'FAILED')
    }
  }

  #cancel(lsn: number, { leaseId }: RecordOf<'TaskCancelled'>): void {
    const grant = this.leases.get(leaseId)
    const isLost = grant?.end?.how === 'EXPIRED' || grant?.end?.how === 'DEAD'
    this.#require(isLost, lsn, `lease ${leaseId} is cancelled although it still had authority`)
    if (grant === undefined) return
    this.#task(lsn, grant.taskId)
    grant.cancelled++
    this.#require(grant.cancelled === 1, lsn, `lease ${leaseId} is cancelled a second time`)
  }

  #kill(lsn: number, { taskId }: RecordOf<'TaskDead'>): void {
    const task = this.#task(lsn, taskId)
    const open = task?.grants.find((grant) => grant.end === undefined)
    if (open !== undefined) open.end = { how: 'DEAD' }
    end(task, lsn, 'DEAD')
  }

  #task(lsn: number, taskId: number): TaskHistory | undefined {
    const task = this.tasks.get(taskId)
    this.#require(task !== undefined, lsn, `there is no task ${taskId}`)
    const isForgotten = task !== undefined && isBehind(task, this.#forgottenThrough)
    this.#require(!isForgotten, lsn, `task ${taskId} is forgotten`)
    return task
  }

  #openGrant(lsn: number, leaseId: number): Grant | undefined {
    const grant = this.leases.get(leaseId)
    const isOpen = grant !== undefined && grant.end === undefined
    this.#require(isOpen, lsn, `lease ${leaseId} owns no task`)
    return isOpen ? grant : undefined
  }

  #require(holds: boolean, lsn: number, otherwise: string): void {
    if (!holds) this.faults.push(`LSN ${lsn}: ${otherwise}`)
  }
}
