import type { RetryPolicy } from '@tenure/options'
import type { Facts } from '@tenure/protocol'
import { protocolError, type TenureError } from '../errors.js'

/** A WAITING or LEASED task is active; the other three states are final. */
export type TaskState = 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD'

/** A task without its payload, result and attempts. Times are milliseconds since the epoch. */
export interface TaskSummary {
  readonly taskId: number
  readonly queue: string
  readonly state: TaskState
  /** Number of times the task was leased. */
  readonly attempt: number
  readonly currentLeaseId: number | null
  /** While LEASED: the worker that owns it. */
  readonly workerId?: string
  /** While LEASED: when the lease expires, by the coordinator's clock. */
  readonly leaseExpiry?: number
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  readonly requestId?: string
  readonly createdAt: number
  readonly notBefore?: number
  /** When the current state began. */
  readonly stateSince: number
  /** While WAITING: when the task becomes eligible for a lease. */
  readonly eligibleAt?: number
  /** Number of failure reports so far. */
  readonly failures: number
  readonly expiriesInARow: number
  /** For an ended task: the LSN of the record that ended it. */
  readonly endedLsn?: number
  /** Why the last attempt failed, or why the task is DEAD. */
  readonly reason?: string
}

export interface Task extends TaskSummary {
  /** Absent for a COMPLETED task. */
  readonly payload?: Uint8Array
  /** The result of a COMPLETED task, if its worker returned one. */
  readonly result?: Uint8Array
  /** The last 32 attempts, oldest first. */
  readonly attempts: readonly Attempt[]
}

export interface Attempt {
  readonly attempt: number
  /** Increases with every lease, across all tasks and restarts. */
  readonly leaseId: number
  readonly workerId: string
  readonly grantedAt: number
  readonly leaseExpiry: number
  /** OPEN until its lease ends. */
  readonly outcome: 'OPEN' | 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
  readonly endedAt?: number
  readonly reportId?: string
  /** A report arrived after the lease was lost, and was rejected. */
  readonly cancelled: boolean
}

/** The coordinator's view of a worker. It is advisory and may be outdated. */
export interface WorkerInfo {
  readonly name: string
  readonly connections: number
  /** The number of concurrent tasks that the worker stated; 0 when it stated none. */
  readonly capacity: number
  readonly leases: number
  readonly lastHeardAt: number
  /** Ids of up to 10 of its tasks, longest held first. */
  readonly tasks: readonly number[]
  /** The queues of its last lease request. */
  readonly queues: readonly string[]
}

export interface WorkersInfo {
  readonly workers: readonly WorkerInfo[]
  /** Number of workers that did not fit into the answer. */
  readonly leftOut: number
}

/** Facts that explain why a task is not running, or which worker runs it. Times are the coordinator's. */
export interface Why {
  readonly now: number
  /** When this coordinator started; it knows of no requests before that. */
  readonly startedAt: number
  readonly state: TaskState
  readonly queue: string
  /** When the current state began. */
  readonly stateSince: number
  /** While WAITING: when the task becomes eligible for a lease. */
  readonly eligibleAt?: number
  /** For an eligible task: the number of tasks ahead of it in its queue. */
  readonly ahead?: number
  /** `ahead` is a lower bound, because counting stopped early. */
  readonly aheadIsMore?: boolean
  /** While LEASED: the current lease. */
  readonly lease?: {
    readonly leaseId: number
    readonly workerId: string
    readonly attempt: number
    readonly grantedAt: number
    readonly leaseExpiry: number
    readonly windowEnd: number
  }
  /** The last request from the worker that owns the task, if known. */
  readonly workerLastHeardAt?: number
  /** Number of lease requests waiting for this queue. */
  readonly pollsWaiting: number
  /** All waiting lease requests come from workers at capacity. */
  readonly pollsAreFull?: boolean
  /** The last lease request for this queue; absent when there was none since startup. */
  readonly queueLastAskedAt?: number
}

/** Counts and positions. A newer coordinator may return further fields. */
export interface Stats extends Facts {
  readonly lastLsn: number
  readonly lastAt: number
  readonly now: number
  /** When this coordinator started. */
  readonly startedAt: number
  /** Number of times the log was opened, including failed startups. */
  readonly epoch: number
  /** Number of times a coordinator became ready on this log, not counting the first. */
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
  /** Lease requests that are waiting for a task. */
  readonly waitingPolls: number
  /** Whether submissions are rejected because the disk is full. Older coordinators omit it. */
  readonly diskFull?: boolean
  /** The last known free disk space, if available. */
  readonly diskFreeBytes?: number
  /** Up to 100 queues, those with the most waiting tasks first. */
  readonly lines: readonly QueueStats[]
  /** Number of queues that are not listed in `lines`. */
  readonly linesLeftOut: number
}

/** Totals over the whole history, across restarts. */
export interface Counters {
  readonly tasksCreated: number
  readonly leasesGranted: number
  readonly leasesExtended: number
  readonly leasesExpired: number
  /** Leases that expired while no coordinator was running; included in `leasesExpired`. */
  readonly leasesExpiredAtStart: number
  readonly tasksCompleted: number
  /** Failed attempts that returned their task to WAITING. */
  readonly retries: number
  readonly tasksFailed: number
  readonly tasksDead: number
  readonly tasksForgotten: number
  /** Attempts granted after the previous attempt expired. */
  readonly possibleDuplicates: number
  /** Expired attempts that were followed by another attempt and whose worker still reported. */
  readonly confirmedDuplicates: number
  /** Reports answered CANCELLED because their lease was lost, counted once per lease. */
  readonly refusedReports: number
}

export interface QueueStats {
  readonly queue: string
  /** WAITING tasks, eligible or not. */
  readonly waiting: number
  /** When the first waiting task becomes eligible; it may be in the past. */
  readonly firstEligibleAt?: number
  /** Number of lease requests waiting for this queue. */
  readonly pollsWaiting: number
  readonly lastAskedAt?: number
}

/** A checkpoint and its cost. */
export interface CheckpointInfo {
  /** The checkpoint holds the state after this record. */
  readonly lsn: number
  /** Absent when the newest checkpoint already contained everything. */
  readonly tasks?: number
  /** Number of records replayed to build it. */
  readonly replayed: number
  readonly replayMs: number
  readonly writeMs: number
  /** Parts of the log that were removed because of it. */
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
  throw wrongField('attempts', task.attempts, 'list')
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
 * Copies the facts, so that they share no memory with the receive buffer. Drops nil fields, which mean the same
 * as absent ones. Accepts unknown fields, because a newer coordinator may send more.
 */
function checked(facts: Facts, kinds: FieldKinds): Facts {
  for (const [name, kind] of Object.entries(kinds)) {
    if (typeof facts[name] === kind) continue
    throw wrongField(name, facts[name], kind)
  }
  return copy(facts) as Facts
}

function wrongField(name: string, got: unknown, expected: string): TenureError {
  const shown = got === undefined ? 'missing' : `a ${typeof got}`
  const message = `the answer is invalid: its field ${name} is ${shown}; it must be a ${expected}`
  return protocolError(message)
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
