import { describe } from '@tenure/options'
import { check } from '../errors.js'
import { AttemptRows } from '../store/attempt-rows.js'
import { Blobs } from '../store/blobs.js'
import { DueList } from '../store/due-list.js'
import { LsnIndex } from '../store/lsn-index.js'
import { Names } from '../store/names.js'
import { RequestIndex } from '../store/request-index.js'
import { TaskRows } from '../store/task-rows.js'
import { type Counters, counterNames } from '../task.js'
import { isWholeOf } from '../values.js'

/**
 * The result of replaying a log. Only `apply` and the decoder of checkpoints change it. Read it
 * through the functions of this package, because its layout may change.
 */
export interface State {
  readonly authoritative: Authoritative
  readonly derived: Derived
}

/**
 * The content of the records. Two replays of the same log give equal content. `hashState` and
 * checkpoints cover exactly this.
 */
interface Authoritative {
  /** The LSN and the `at` of the last applied record, or 0 before the first. */
  lastLsn: number
  lastAt: number
  readonly counters: { -readonly [Name in keyof Counters]: number }
  /** Except for the columns under "Derived". */
  readonly tasks: TaskRows
  readonly attempts: AttemptRows
  readonly queues: Names
  readonly workers: Names
  readonly blobs: Blobs
}

/** Indexes for speed. All of them can be rebuilt from the authoritative part. */
interface Derived {
  /** By task id, and by the id of the lease that owns a task now. */
  readonly byLsn: LsnIndex
  readonly byRequestId: RequestIndex
  /**
   * WAITING tasks by `(eligible_at, task_id)`: one list per queue, at the queue's number. It is
   * removed with the queue's last task.
   */
  readonly waiting: (DueList | undefined)[]
  /** LEASED tasks by `(lease_expiry, task_id)`. */
  readonly leased: DueList
  /** Terminal tasks by the LSN that ended them. */
  readonly ended: DueList
  /** Rows of tasks that are in no list for the moment; see `withhold`. */
  readonly withheld: Set<number>
}

export interface StateOptions {
  /**
   * A secret integer, so that clients cannot choose request ids that collide in the index. Use a
   * random one if request ids come from untrusted clients. It has no other visible effect.
   */
  readonly hashKey?: number | undefined
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
      leased: new DueList(tasks),
      ended: new DueList(tasks),
      withheld: new Set(),
    },
  }
}

function noCounts(): Authoritative['counters'] {
  return Object.fromEntries(counterNames.map((name) => [name, 0])) as Authoritative['counters']
}

/** The row of the task with this id, or 0. */
export function findTask({ authoritative, derived }: State, taskId: number): number {
  const row = derived.byLsn.get(taskId)
  return row !== 0 && authoritative.tasks.taskId.get(row) === taskId ? row : 0
}

/** The row of the task that this lease owns now, or 0. */
export function findOwned({ authoritative, derived }: State, leaseId: number): number {
  const row = derived.byLsn.get(leaseId)
  return row !== 0 && authoritative.tasks.currentLeaseId.get(row) === leaseId ? row : 0
}
