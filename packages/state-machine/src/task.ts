import type { RetryPolicy } from '@tenure/options'

/** WAITING and LEASED tasks are alive; the other three never change again. */
export const taskStates = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const
export type TaskState = (typeof taskStates)[number]

/** A task as it stands after some LSN, without what may be large. */
export interface TaskSummary {
  readonly taskId: number
  readonly queue: string
  readonly state: TaskState
  /** How often the task was leased. */
  readonly attempt: number
  readonly currentLeaseId: number | null
  /** While LEASED: who owns it. */
  readonly workerId?: string
  /** While LEASED: when the lease expires, as last extended. */
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
  /** Reports of failure so far. Expiries use up no retry and are not counted here. */
  readonly failures: number
  /** Leases that expired one after the other while a coordinator was running. */
  readonly expiriesInARow: number
  /** Of a terminal task: the LSN of the record that ended it. */
  readonly endedLsn?: number
  /** Why the last attempt failed, or why the task is DEAD. A COMPLETED task keeps none. */
  readonly reason?: string
}

/** The whole task: plain data, a copy that shares nothing with the state. */
export interface Task extends TaskSummary {
  /** A COMPLETED task keeps none. */
  readonly payload?: Uint8Array
  /** Of a COMPLETED task, when the worker gave one. */
  readonly result?: Uint8Array
  /** The last `attemptsKept` of them, oldest first. */
  readonly attempts: readonly Attempt[]
}

/** How many attempts a task remembers. A lease older than that is unknown. */
export const attemptsKept = 32

/**
 * How an attempt ended: by its worker's report, by time, or with its task's death. OPEN is the one
 * whose lease has not ended; whether its worker is running it no record tells (002 §3.2).
 */
export const attemptOutcomes = ['OPEN', 'COMPLETED', 'FAILED', 'EXPIRED', 'DEAD'] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]

export interface Attempt {
  /** 1 for the first one. */
  readonly attempt: number
  readonly leaseId: number
  readonly workerId: string
  readonly grantedAt: number
  /** As last extended. */
  readonly leaseExpiry: number
  readonly outcome: AttemptOutcome
  /** Absent while OPEN. */
  readonly endedAt?: number
  /** The `reportId` of the report that ended the attempt, where the worker gave one. */
  readonly reportId?: string
  /** A report came after the lease had lost its authority, and was refused by a TaskCancelled. */
  readonly cancelled: boolean
}

/** In the order in which an encoded state holds them, so a new one comes last. */
export const counterNames = [
  'tasksCreated',
  'leasesGranted',
  'leasesExtended',
  'leasesExpired',
  /** Of these, the ones that were seen when a coordinator started. */
  'leasesExpiredAtStart',
  'tasksCompleted',
  /** Reports of failure that sent the task back to WAITING. */
  'retries',
  'tasksFailed',
  'tasksDead',
  'tasksForgotten',
  /** Attempts granted after the previous one had expired: its worker may still be running. */
  'possibleDuplicates',
  /** Attempts that expired, were followed by another one, and whose worker reported all the same. */
  'confirmedDuplicates',
  /** TaskCancelled records: reports under a lease that had lost its authority, one for each lease. */
  'refusedReports',
] as const

/** Counts over the whole history, replayed like everything else: a restart does not reset them. */
export type Counters = { readonly [Name in (typeof counterNames)[number]]: number }

/** What a lease is worth: the one word that a report or a heartbeat under it has to be judged by. */
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

/** Who owns a task now. */
export interface Lease {
  readonly leaseId: number
  readonly taskId: number
  readonly queue: string
  readonly attempt: number
  readonly workerId: string
  readonly grantedAt: number
  readonly leaseExpiry: number
  /** No extension leads past this. */
  readonly windowEnd: number
}
