import type { RetryPolicy } from '@tenure/options'
import type { Facts } from '@tenure/protocol'
import { TenureError } from '../errors.js'

/** WAITING and LEASED tasks are alive; the other three never change again. */
export type TaskState = 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD'

/** A task without what may be large. Times are milliseconds since the epoch. */
export interface TaskSummary {
  readonly taskId: number
  readonly queue: string
  readonly state: TaskState
  /** How often the task was leased. */
  readonly attempt: number
  readonly currentLeaseId: number | null
  /** While LEASED: who owns it. */
  readonly workerId?: string
  /** While LEASED: when the lease expires, by the coordinator's clock. */
  readonly leaseExpiry?: number
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  readonly requestId?: string
  readonly createdAt: number
  readonly notBefore?: number
  /** When the present state began. */
  readonly stateSince: number
  /** While WAITING: from when on it may be leased. */
  readonly eligibleAt?: number
  /** Reports of failure so far. */
  readonly failures: number
  readonly expiriesInARow: number
  /** Of a task that has ended: the LSN of the record that ended it. */
  readonly endedLsn?: number
  /** Why the last attempt failed, or why the task is DEAD. */
  readonly reason?: string
}

export interface Task extends TaskSummary {
  /** A COMPLETED task keeps none. */
  readonly payload?: Uint8Array
  /** Of a COMPLETED task, when the worker gave one. */
  readonly result?: Uint8Array
  /** The last 32 of them, oldest first. */
  readonly attempts: readonly Attempt[]
}

export interface Attempt {
  readonly attempt: number
  /** Grows from attempt to attempt, over all tasks and restarts. */
  readonly leaseId: number
  readonly workerId: string
  readonly grantedAt: number
  readonly leaseExpiry: number
  /** OPEN until its lease ends. */
  readonly outcome: 'OPEN' | 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
  readonly endedAt?: number
  readonly reportId?: string
  /** A report came after the lease had lost its authority, and was refused. */
  readonly cancelled: boolean
}

/** A worker as the coordinator sees it: advice, nothing more. */
export interface WorkerInfo {
  readonly name: string
  readonly connections: number
  /** How many tasks it runs at once, by its own word; 0 when it does not say. */
  readonly capacity: number
  readonly leases: number
  readonly lastHeardAt: number
  /** Ids of tasks that it holds, 10 at most: those it is known to hold for longest come first. */
  readonly tasks: readonly number[]
  /** The queues of its last lease request. */
  readonly queues: readonly string[]
}

export interface WorkersInfo {
  readonly workers: readonly WorkerInfo[]
  /** How many more there are, for whom there was no room in the answer. */
  readonly leftOut: number
}

/** Why a task is not running now, or who runs it. Times are the coordinator's. */
export interface Why {
  readonly now: number
  /** When this coordinator started: before that it has heard of nobody. */
  readonly startedAt: number
  readonly state: TaskState
  readonly queue: string
  /** When its state began. */
  readonly stateSince: number
  /** While WAITING: from when on it may be leased. */
  readonly eligibleAt?: number
  /** While it may be leased: how many tasks of its queue are leased before it. */
  readonly ahead?: number
  /** They were not counted further: there are more. */
  readonly aheadIsMore?: boolean
  /** While LEASED. */
  readonly lease?: {
    readonly leaseId: number
    readonly workerId: string
    readonly attempt: number
    readonly grantedAt: number
    readonly leaseExpiry: number
    readonly windowEnd: number
  }
  /** When the worker that owns it last asked for anything, where that is known. */
  readonly workerLastHeardAt?: number
  /** Lease requests that wait for a task of this queue. */
  readonly pollsWaiting: number
  /** All of them are of workers at capacity. */
  readonly pollsAreFull?: boolean
  /** When a lease request last named the queue; absent when none is known of since the start. */
  readonly queueLastAskedAt?: number
}

/** Counts and positions. There may be more of them in a newer coordinator. */
export interface Stats extends Facts {
  readonly lastLsn: number
  readonly lastAt: number
  readonly now: number
  /** When this coordinator started. */
  readonly startedAt: number
  /** How often the log was opened, by starts that failed, too. */
  readonly epoch: number
  /** How often a coordinator has become ready on this log, not counting the first time. */
  readonly restarts: number
  readonly tasks: {
    readonly waiting: number
    readonly leased: number
    readonly ended: number
    readonly bytes: number
  }
  readonly counters: Counters
  readonly queues: number
  readonly workers: number
  readonly connections: number
  /** Lease requests that wait for a task. */
  readonly waitingPolls: number
  /** Whether submissions are refused because the disk has no room; a newer coordinator says so. */
  readonly diskFull?: boolean
  /** As seen last, where the disk says so. */
  readonly diskFreeBytes?: number
  /** Up to 100 queues, those with the most waiting tasks first. */
  readonly lines: readonly QueueLine[]
  /** How many queues are not among them. */
  readonly linesLeftOut: number
}

/** Over the whole history, restarts included. */
export interface Counters {
  readonly tasksCreated: number
  readonly leasesGranted: number
  readonly leasesExtended: number
  readonly leasesExpired: number
  /** Of these, when a coordinator started. */
  readonly leasesExpiredAtStart: number
  readonly tasksCompleted: number
  /** Failures that sent a task back to WAITING. */
  readonly retries: number
  readonly tasksFailed: number
  readonly tasksDead: number
  readonly tasksForgotten: number
  /** Attempts granted after the previous one had expired. */
  readonly possibleDuplicates: number
  /** Attempts that expired, were followed by another one, and whose worker reported all the same. */
  readonly confirmedDuplicates: number
  /** Reports answered CANCELLED because their lease was lost, one for each lease. */
  readonly refusedReports: number
}

export interface QueueLine {
  readonly queue: string
  /** Tasks that are WAITING, eligible or not. */
  readonly waiting: number
  /** When the first of them is eligible, which may be in the past. */
  readonly firstEligibleAt?: number
  /** Lease requests that wait for a task of this queue. */
  readonly pollsWaiting: number
  readonly lastAskedAt?: number
}

/** A checkpoint, and what it took. */
export interface CheckpointInfo {
  /** The state of all tasks after this record is kept. */
  readonly lsn: number
  /** Absent where there was nothing new to make one of. */
  readonly tasks?: number
  /** Records that were replayed for it. */
  readonly replayed: number
  readonly replayMs: number
  readonly writeMs: number
  /** What of the log it made superfluous. */
  readonly removed: {
    readonly segments: number
    readonly bytes: number
    readonly checkpoints: number
  }
}

export function readCheckpoint(facts: Facts): CheckpointInfo {
  return checked(facts, { lsn: 'number' }) as unknown as CheckpointInfo
}

const taskFields: FieldKinds = { taskId: 'number', state: 'string', queue: 'string' }

export function readSummary(facts: Facts): TaskSummary {
  return checked(facts, taskFields) as unknown as TaskSummary
}

export function readTask(facts: Facts): Task {
  const task = checked(facts, taskFields)
  if (Array.isArray(task.attempts)) return task as unknown as Task
  throw new TenureError('CLIENT_PROTOCOL', 'a task without a list of attempts')
}

export function readWorker(facts: Facts): WorkerInfo {
  return checked(facts, { name: 'string' }) as unknown as WorkerInfo
}

export function readStats(facts: Facts): Stats {
  return checked(facts, {}) as Stats
}

export function readWhy(facts: Facts): Why {
  return checked(facts, { now: 'number', state: 'string', queue: 'string' }) as unknown as Why
}

type FieldKinds = { readonly [name: string]: 'number' | 'string' }

/**
 * A copy of the facts that shares no memory with what was received, where nil is an absent field: a
 * map may come from a coordinator in which a field is newer than we are.
 */
function checked(facts: Facts, kinds: FieldKinds): Facts {
  for (const [name, kind] of Object.entries(kinds)) {
    if (typeof facts[name] === kind) continue
    throw new TenureError(
      'CLIENT_PROTOCOL',
      `${name} is a ${typeof facts[name]}; it must be a ${kind}`,
    )
  }
  return copy(facts) as Facts
}

function copy(value: unknown): unknown {
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (Array.isArray(value)) return value.map(copy)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([name, field]) => field !== null || name === 'currentLeaseId',
  )
  return Object.fromEntries(kept.map(([name, field]) => [name, copy(field)]))
}
