import type { RetryPolicy } from '@tenure/options'

/** WAITING and LEASED tasks can change. The other three states are terminal. */
export const taskStates = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const
export type TaskState = (typeof taskStates)[number]

/** A task after some LSN, without its payload, result and attempts. */
export interface TaskSummary {
  readonly taskId: number
  readonly queue: string
  readonly state: TaskState
  /** How many times the task was leased. */
  readonly attempt: number
  readonly currentLeaseId: number | null
  /** While LEASED: the worker that owns the task. */
  readonly workerId?: string
  /** While LEASED: when the lease expires, including extensions. */
  readonly leaseExpiry?: number
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  readonly requestId?: string
  readonly createdAt: number
  readonly notBefore?: number
  /** When the current state began. */
  readonly stateSince: number
  /** While WAITING: when the task is or was first eligible. */
  readonly eligibleAt?: number
  /** Number of reported failures. Expired leases use up no retry and are not counted here. */
  readonly failures: number
  /** Consecutive lease expiries while a coordinator was running. */
  readonly expiriesInARow: number
  /** For a terminal task: the LSN of the record that ended it. */
  readonly endedLsn?: number
  /** Why the last attempt failed, or why the task is DEAD. Absent for a COMPLETED task. */
  readonly reason?: string
}

/** The whole task as plain data. Shares nothing with the state. */
export interface Task extends TaskSummary {
  /** Absent for a COMPLETED task. */
  readonly payload?: Uint8Array
  /** For a COMPLETED task, if the worker gave a result. */
  readonly result?: Uint8Array
  /** The last `attemptsKept` attempts, oldest first. */
  readonly attempts: readonly Attempt[]
}

/** How many attempts a task remembers. Older leases are unknown. */
export const attemptsKept = 32

/**
 * How an attempt ended: by its worker's report, by timeout, or with its task's death. OPEN means
 * that the lease has not ended. No record shows whether its worker is running (002 §3.2).
 */
export const attemptOutcomes = ['OPEN', 'COMPLETED', 'FAILED', 'EXPIRED', 'DEAD'] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]

export interface Attempt {
  /** 1 for the first one. */
  readonly attempt: number
  readonly leaseId: number
  readonly workerId: string
  readonly grantedAt: number
  /** Including extensions. */
  readonly leaseExpiry: number
  readonly outcome: AttemptOutcome
  /** Absent while OPEN. */
  readonly endedAt?: number
  /** The `reportId` of the report that ended the attempt, if the worker gave one. */
  readonly reportId?: string
  /** A report arrived after the lease had lost its authority and was rejected with a TaskCancelled. */
  readonly cancelled: boolean
}

/** In the order of the encoded state, so add new names at the end. */
export const counterNames = [
  'tasksCreated',
  'leasesGranted',
  'leasesExtended',
  'leasesExpired',
  /** The part of `leasesExpired` that was found when a coordinator started. */
  'leasesExpiredAtStart',
  'tasksCompleted',
  /** Failures that sent the task back to WAITING. */
  'retries',
  'tasksFailed',
  'tasksDead',
  'tasksForgotten',
  /** Attempts granted after the previous one had expired. Its worker may still be running. */
  'possibleDuplicates',
  /** Attempts that expired and were followed by another one, and whose worker still reported. */
  'confirmedDuplicates',
  /** TaskCancelled records: reports with a lease that had lost its authority, one per lease. */
  'refusedReports',
] as const

/** Counts over the whole history. They are part of the replayed state, so a restart does not reset them. */
export type Counters = { readonly [Name in (typeof counterNames)[number]]: number }

/** The status of a lease, by which a report or a heartbeat is judged. */
export interface LeaseStanding {
  readonly taskState: TaskState
  readonly workerId: string
  readonly outcome: AttemptOutcome
  readonly grantedAt: number
  readonly leaseExpiry: number
  readonly windowEnd: number
  readonly reportId: string | undefined
  readonly cancelled: boolean
  /** The task's newest lease, which may be this one. */
  readonly newestLeaseId: number
}

/** The owner of a task. */
export interface Lease {
  readonly leaseId: number
  readonly taskId: number
  readonly queue: string
  readonly attempt: number
  readonly workerId: string
  readonly grantedAt: number
  readonly leaseExpiry: number
  /** No extension goes past this time. */
  readonly windowEnd: number
}
