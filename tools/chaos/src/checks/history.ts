import type { LogRecord, RecordOf, RecordType } from '@tenure/state-machine'
import type { Logged } from '../evidence/record-file.js'

/** One lease, from the record that granted it to the one that ended it. */
export interface Grant {
  readonly taskId: number
  readonly leaseId: number
  readonly attempt: number
  readonly worker: string
  /** As last extended. */
  expiry: number
  end?: {
    readonly how: 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
    readonly result?: string | undefined
  }
  /** How many TaskCancelled name it. */
  cancelled: number
}

export interface TaskStory {
  readonly taskId: number
  readonly requestId: string
  readonly payload: Uint8Array
  readonly maxRetries: number
  readonly grants: Grant[]
  failures: number
  /** The terminal states it was brought into, in the order of the log: there should be one. */
  readonly ends: ('COMPLETED' | 'FAILED' | 'DEAD')[]
  /** Where it was brought into the first of them. */
  endedLsn?: number
}

/** A decision to drop all tasks that have ended at an LSN or before. */
export interface Forgetting {
  readonly lsn: number
  readonly through: number
}

/** What a log says about each task and each lease. */
export interface History {
  readonly tasks: ReadonlyMap<number, TaskStory>
  readonly leases: ReadonlyMap<number, Grant>
  readonly counts: Readonly<Record<RecordType, number>>
  /** Every task that ended there or before is forgotten. */
  readonly forgottenThrough: number
  /** What cannot be, seen at the LSN where it was. */
  readonly faults: readonly string[]
}

/**
 * Tells the stories of some tasks of a log: the records about them, and all decisions to forget. It is written from the specification and uses nothing of the state
 * machine: what that one lets pass by mistake it must not let pass as well.
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

/** Whether the task ended at this LSN or before. */
export function isBehind({ endedLsn }: TaskStory, lsn: number): boolean {
  return endedLsn !== undefined && endedLsn <= lsn
}

function end(task: TaskStory | undefined, lsn: number, how: TaskStory['ends'][number]): void {
  if (task === undefined) return
  task.ends.push(how)
  task.endedLsn ??= lsn
}

class HistoryReader implements History {
  readonly tasks = new Map<number, TaskStory>()
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
    this.#require(open === undefined, lsn, `task ${taskId} has the lease ${open?.leaseId} already`)
    this.#require(task.ends.length === 0, lsn, `task ${taskId} has ended and is leased`)
    const grant = { taskId, leaseId, attempt, worker, expiry, cancelled: 0 }
    this.#require(attempt === task.grants.length + 1, lsn, `attempt ${attempt} is out of turn`)
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
    // An end is an end, whoever had no right to bring it about.
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
    this.#require(isLost, lsn, `lease ${leaseId} is cancelled and had not lost its authority`)
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

  #task(lsn: number, taskId: number): TaskStory | undefined {
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
