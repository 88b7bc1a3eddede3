import {
  apply,
  createState,
  getTask,
  InvariantViolation,
  type LogRecord,
  listTasks,
  position,
  type RecordOf,
  type RecordType,
  type State,
  type Task,
} from '@tenure/state-machine'

type Fields<T extends RecordType> = Partial<Omit<RecordOf<T>, 'type'>>

/** A state with a source of records. `at` stays the same until a test changes it. */
export class World {
  readonly state: State
  at = 1_000_000

  constructor(state: State = createState()) {
    this.state = state
  }

  get nextLsn(): number {
    return position(this.state).lastLsn + 1
  }

  /** Applies the record as the next one and returns its LSN. */
  apply(record: LogRecord): number {
    const lsn = this.nextLsn
    apply(this.state, lsn, record)
    return lsn
  }

  applyAt(lsn: number, record: LogRecord): void {
    apply(this.state, lsn, record)
  }

  task(taskId: number): Task {
    const task = getTask(this.state, taskId)
    if (task === undefined) throw new Error(`there is no task ${taskId}`)
    return task
  }

  leaseOf(taskId: number): number {
    return this.task(taskId).currentLeaseId ?? 0
  }

  create(fields: Fields<'TaskCreated'> = {}): number {
    return this.apply(this.creation(fields))
  }

  creation(fields: Fields<'TaskCreated'> = {}): RecordOf<'TaskCreated'> {
    return {
      type: 'TaskCreated',
      at: this.at,
      taskId: this.nextLsn,
      payload: Buffer.from('work'),
      executionWindowMs: 60_000,
      retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 500 } },
      ...fields,
    }
  }

  grant(taskId: number, fields: Fields<'LeaseGranted'> = {}): number {
    return this.apply(this.granting(taskId, fields))
  }

  granting(taskId: number, fields: Fields<'LeaseGranted'> = {}): RecordOf<'LeaseGranted'> {
    return {
      type: 'LeaseGranted',
      at: this.at,
      taskId,
      leaseId: this.nextLsn,
      workerId: 'w',
      attempt: this.task(taskId).attempt + 1,
      leaseExpiry: this.at + 10_000,
      ...fields,
    }
  }

  /** A task with a lease of ten seconds and a window of sixty. */
  leased(fields: Fields<'TaskCreated'> = {}): { taskId: number; leaseId: number } {
    const taskId = this.create(fields)
    return { taskId, leaseId: this.grant(taskId) }
  }

  extend(leaseId: number, newLeaseExpiry: number): number {
    return this.apply({ type: 'LeaseExtended', at: this.at, leaseId, newLeaseExpiry })
  }

  /** Moves the time past the end of the task's lease. */
  expire(taskId: number, fields: Fields<'LeaseExpired'> = {}): number {
    this.at = Math.max(this.at, this.task(taskId).attempts.at(-1)?.leaseExpiry ?? 0)
    const leaseId = this.leaseOf(taskId)
    return this.apply({
      type: 'LeaseExpired',
      at: this.at,
      taskId,
      leaseId,
      atStart: false,
      ...fields,
    })
  }

  complete(taskId: number, fields: Fields<'TaskCompleted'> = {}): number {
    const leaseId = this.leaseOf(taskId)
    return this.apply({ type: 'TaskCompleted', at: this.at, taskId, leaseId, ...fields })
  }

  fail(taskId: number, fields: Fields<'TaskFailed'> = {}): number {
    const leaseId = this.leaseOf(taskId)
    return this.apply({
      type: 'TaskFailed',
      at: this.at,
      taskId,
      leaseId,
      failureReason: 'broken',
      ...fields,
    })
  }

  cancel(taskId: number, leaseId: number): number {
    return this.apply({ type: 'TaskCancelled', at: this.at, taskId, leaseId })
  }

  kill(taskId: number, reason = 'stopped'): number {
    return this.apply({ type: 'TaskDead', at: this.at, taskId, reason })
  }

  forget(through: number): number {
    return this.apply({ type: 'TasksForgotten', at: this.at, through })
  }

  /** The violation that `work` throws. */
  violation(work: () => void): InvariantViolation {
    try {
      work()
    } catch (error) {
      if (error instanceof InvariantViolation) return error
      throw error
    }
    throw new Error('nothing was rejected')
  }
}

/** Every task with all its fields. */
export function allTasks(state: State): Task[] {
  return [...listTasks(state)].flatMap(({ taskId }) => getTask(state, taskId) ?? [])
}
