import { type RetryPolicy, retryRanges } from '@tenure/options'

/**
 * The nine facts that change a task or a lease. Eight are those of the specification, the ninth,
 * TasksForgotten, is the decision to drop tasks that have ended.
 *
 * Every record carries `at`, the coordinator's time of the decision in whole milliseconds since the
 * epoch. `taskId` and `leaseId` are the LSNs of the records that created the task and granted the
 * lease; all other numbers are whole numbers, too.
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

/** A task is introduced. It is WAITING, and eligible at once or from `notBefore` on. */
export interface TaskCreated {
  readonly type: 'TaskCreated'
  readonly at: number
  readonly taskId: number
  readonly payload: Uint8Array
  /** The longest time one attempt may own the task. */
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

/** The worker was heard of; the lease stays its own for longer. */
export interface LeaseExtended {
  readonly type: 'LeaseExtended'
  readonly at: number
  readonly leaseId: number
  readonly newLeaseExpiry: number
}

/** Time revoked the lease. The task is WAITING again, eligible at once. */
export interface LeaseExpired {
  readonly type: 'LeaseExpired'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  /** Seen when the coordinator started: nobody was there to hear the worker's heartbeats. */
  readonly atStart: boolean
}

export interface TaskCompleted {
  readonly type: 'TaskCompleted'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  /** The worker's name for this report, by which it is recognised when it is sent again. */
  readonly reportId?: string
  readonly result?: Uint8Array
}

/** An attempt failed. The task is WAITING again while retries remain, else FAILED. */
export interface TaskFailed {
  readonly type: 'TaskFailed'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly failureReason: string
  readonly reportId?: string
}

/** A worker reported without authority. Changes no task; keeps the fact. */
export interface TaskCancelled {
  readonly type: 'TaskCancelled'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
}

/** An administrator, or the guard against poison pills, stopped the task for good. */
export interface TaskDead {
  readonly type: 'TaskDead'
  readonly at: number
  readonly taskId: number
  readonly reason: string
}

/** Every task that ended at or before LSN `through` is dropped. */
export interface TasksForgotten {
  readonly type: 'TasksForgotten'
  readonly at: number
  readonly through: number
}

export const defaultQueue = 'default'

/**
 * What a record can hold, in bytes of UTF-8 and in milliseconds. A payload and a result have no
 * limit here: theirs is a knob of the coordinator.
 */
export const recordLimits = {
  queueBytesMax: 64,
  requestIdBytesMax: 128,
  reportIdBytesMax: 128,
  workerIdBytesMax: 128,
  reasonBytesMax: 4096,
  /** Two times added, or a time and a delay, are still exact. */
  timeMsMax: 2 ** 52 - 1,
  retriesMax: retryRanges.maxRetries[1],
} as const
