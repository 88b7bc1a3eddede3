import { describe } from '@tenure/options'
import { check } from '../errors.js'
import { AttemptRows } from '../store/attempt-rows.js'
import { Blobs } from '../store/blobs.js'
import { Line } from '../store/line.js'
import { LsnIndex } from '../store/lsn-index.js'
import { Names } from '../store/names.js'
import { RequestIndex } from '../store/request-index.js'
import { TaskRows } from '../store/task-rows.js'
import { type Counters, counterNames } from '../task.js'
import { isWholeOf } from '../values.js'

/**
 * Everything that replaying a log gives. Only `apply` and the reading of a checkpoint change it;
 * look at it through the functions of this package, how it is stored is free to change.
 */
export interface State {
  readonly authoritative: Authoritative
  readonly derived: Derived
}

/**
 * What the records say, and nothing else. Whoever has replayed the same log has the same; it is what
 * `hashState` hashes and what a checkpoint keeps.
 */
interface Authoritative {
  /** The LSN and the `at` of the record applied last; 0 before the first. */
  lastLsn: number
  lastAt: number
  readonly counters: { -readonly [Name in keyof Counters]: number }
  /** Except for its columns under "Derived". */
  readonly tasks: TaskRows
  readonly attempts: AttemptRows
  readonly queues: Names
  readonly workers: Names
  readonly blobs: Blobs
}

/** What is kept beside it for speed. All of it can be found again from the authoritative part. */
interface Derived {
  /** By task id, and by the id of the lease that owns a task now. */
  readonly byLsn: LsnIndex
  readonly byRequestId: RequestIndex
  /**
   * WAITING tasks by `(eligible_at, task_id)`: one line per queue, at the queue's number. It goes
   * with the queue's last task.
   */
  readonly waiting: (Line | undefined)[]
  /** LEASED tasks by `(lease_expiry, task_id)`. */
  readonly leased: Line
  /** Terminal tasks by the LSN that ended them. */
  readonly ended: Line
  /** Rows of tasks that stand in no line for the moment, see `withhold`. */
  readonly withheld: Set<number>
}

export interface StateOptions {
  /**
   * A secret whole number, so that nobody can choose request ids that collide in the index. Give a
   * random one where request ids come from strangers; it changes nothing that can be seen.
   */
  readonly hashKey?: number
}

export function createState(options: StateOptions = {}): State {
  const { hashKey = 0 } = options
  if (!isWholeOf(hashKey, 0, Number.MAX_SAFE_INTEGER))
    throw check.refusal('hashKey', describe(hashKey), 'a whole number from 0 to 2^53 - 1')
  const tasks = new TaskRows()
  const blobs = new Blobs()
  const key = [hashKey >>> 0, Math.floor(hashKey / 2 ** 32) >>> 0] as const
  return {
    authoritative: {
      lastLsn: 0,
      lastAt: 0,
      counters: noCounts(),
      tasks,
      attempts: new AttemptRows(),
      queues: new Names(),
      workers: new Names(),
      blobs,
    },
    derived: {
      byLsn: new LsnIndex(),
      byRequestId: new RequestIndex(tasks, blobs, key),
      waiting: [],
      leased: new Line(tasks),
      ended: new Line(tasks),
      withheld: new Set(),
    },
  }
}

function noCounts(): Authoritative['counters'] {
  return Object.fromEntries(counterNames.map((name) => [name, 0])) as Authoritative['counters']
}

/** The row of the task by its id, or 0. */
export function findTask({ authoritative, derived }: State, taskId: number): number {
  const row = derived.byLsn.get(taskId)
  return row !== 0 && authoritative.tasks.taskId.get(row) === taskId ? row : 0
}

/** The row of the task that the lease owns now, or 0. */
export function findOwned({ authoritative, derived }: State, leaseId: number): number {
  const row = derived.byLsn.get(leaseId)
  return row !== 0 && authoritative.tasks.currentLeaseId.get(row) === leaseId ? row : 0
}
