import { type RetryPolicy, retryRanges } from '@tenure/options'

/**
 * The nine events that change a task or a lease. Eight are from the specification. The ninth,
 * TasksForgotten, removes tasks that have ended.
 *
 * Every record has `at`, the coordinator's decision time in whole milliseconds since the epoch.
 * `taskId` and `leaseId` are the LSNs of the records that created the task and granted the lease.
 * All other numbers are integers, too.
 */
export type LogRecord =
  | TaskCreated
  | LeaseGranted
  | LeaseExtended
  | LeaseExpired
  | TaskCompleted
  | TaskFailed
  | TaskCancelled
  | TaskDead
  | TasksForgotten

export type RecordType = LogRecord['type']

export type RecordOf<T extends RecordType> = Extract<LogRecord, { type: T }>

/** Creates a WAITING task, which is eligible immediately or from `notBefore` on. */
export interface TaskCreated {
  readonly type: 'TaskCreated'
  readonly at: number
  readonly taskId: number
  readonly payload: Uint8Array
  /** The longest time for which one attempt can own the task. */
  readonly executionWindowMs: number
  readonly retryPolicy: RetryPolicy
  /** Absent means `defaultQueue`. */
  readonly queue?: string
  readonly notBefore?: number
  readonly requestId?: string
}

/** A worker owns the task until `leaseExpiry`. The only record that creates ownership. */
export interface LeaseGranted {
  readonly type: 'LeaseGranted'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly workerId: string
  readonly attempt: number
  readonly leaseExpiry: number
}

/** A heartbeat arrived, and the lease lasts longer. */
export interface LeaseExtended {
  readonly type: 'LeaseExtended'
  readonly at: number
  readonly leaseId: number
  readonly newLeaseExpiry: number
}

/** The lease ended by timeout. The task is WAITING again and eligible immediately. */
export interface LeaseExpired {
  readonly type: 'LeaseExpired'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  /** The expiry was found at startup, when no coordinator had been running to receive heartbeats. */
  readonly atStart: boolean
}

export interface TaskCompleted {
  readonly type: 'TaskCompleted'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  /** The worker's id for this report, which identifies a repetition. */
  readonly reportId?: string
  readonly result?: Uint8Array
}

/** An attempt failed. The task is WAITING again if retries remain, otherwise FAILED. */
export interface TaskFailed {
  readonly type: 'TaskFailed'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly failureReason: string
  readonly reportId?: string
}

/** A worker reported without authority. Changes no task, but is counted. */
export interface TaskCancelled {
  readonly type: 'TaskCancelled'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
}

/** An administrator, or the limit for poison tasks, stopped the task for good. */
export interface TaskDead {
  readonly type: 'TaskDead'
  readonly at: number
  readonly taskId: number
  readonly reason: string
}

/** Removes every task that ended at or before LSN `through`. */
export interface TasksForgotten {
  readonly type: 'TasksForgotten'
  readonly at: number
  readonly through: number
}

export const defaultQueue = 'default'

/**
 * Limits of record fields, in bytes of UTF-8 and in milliseconds. Payloads and results are limited
 * by a knob of the coordinator instead.
 */
export const recordLimits = {
  queueBytesMax: 64,
  requestIdBytesMax: 128,
  reportIdBytesMax: 128,
  workerIdBytesMax: 128,
  reasonBytesMax: 4096,
  /** The sum of two times, or of a time and a delay, is still exact. */
  timeMsMax: 2 ** 52 - 1,
  retriesMax: retryRanges.maxRetries[1],
} as const
