/**
 * The records of the specification. Declared here again, because this package depends on no other: the
 * records of `@tenure/state-machine` are structurally compatible.
 */
export type NaiveRecord =
  | NaiveTaskCreated
  | NaiveLeaseGranted
  | NaiveLeaseExtended
  | NaiveLeaseExpired
  | NaiveTaskCompleted
  | NaiveTaskFailed
  | NaiveTaskCancelled
  | NaiveTaskDead
  | NaiveTasksForgotten

export type NaiveRecordOf<T extends NaiveRecord['type']> = Extract<NaiveRecord, { type: T }>

interface NaiveTaskCreated {
  readonly type: 'TaskCreated'
  readonly at: number
  readonly taskId: number
  readonly payload: Uint8Array
  readonly executionWindowMs: number
  readonly retryPolicy: NaiveRetryPolicy
  readonly queue?: string
  readonly notBefore?: number
  readonly requestId?: string
}

export interface NaiveRetryPolicy {
  readonly maxRetries: number
  readonly backoff: NaiveBackoff
}

export type NaiveBackoff =
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | { readonly kind: 'exponential'; readonly initialMs: number; readonly maxMs: number }

interface NaiveLeaseGranted {
  readonly type: 'LeaseGranted'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly workerId: string
  readonly attempt: number
  readonly leaseExpiry: number
}

interface NaiveLeaseExtended {
  readonly type: 'LeaseExtended'
  readonly at: number
  readonly leaseId: number
  readonly newLeaseExpiry: number
}

interface NaiveLeaseExpired {
  readonly type: 'LeaseExpired'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly atStart: boolean
}

interface NaiveTaskCompleted {
  readonly type: 'TaskCompleted'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly reportId?: string
  readonly result?: Uint8Array
}

interface NaiveTaskFailed {
  readonly type: 'TaskFailed'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
  readonly failureReason: string
  readonly reportId?: string
}

interface NaiveTaskCancelled {
  readonly type: 'TaskCancelled'
  readonly at: number
  readonly taskId: number
  readonly leaseId: number
}

interface NaiveTaskDead {
  readonly type: 'TaskDead'
  readonly at: number
  readonly taskId: number
  readonly reason: string
}

interface NaiveTasksForgotten {
  readonly type: 'TasksForgotten'
  readonly at: number
  readonly through: number
}
