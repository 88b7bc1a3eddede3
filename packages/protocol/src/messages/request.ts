import type { RetryPolicy } from '@tenure/options'

/**
 * A request of a client or worker. `id` is chosen by the sender and repeated in the answer: answers arrive in
 * any order.
 */
export type Request =
  | Submit
  | Lease
  | Heartbeat
  | Complete
  | Fail
  | Kill
  | Get
  | List
  | Workers
  | Stats
  | Ping
  | Withdraw
  | Why
  | Checkpoint
  | History

export type RequestKind = Request['kind']

/** A request whose id is assigned when it is sent. */
export type NewRequest = WithoutId<Request>

type WithoutId<R> = R extends Request ? Omit<R, 'id'> : never

export type RequestOf<K extends RequestKind> = Extract<Request, { kind: K }>

/** Submits a task. The coordinator's defaults replace absent fields. */
export interface Submit {
  readonly kind: 'submit'
  readonly id: number
  readonly payload: Uint8Array
  readonly queue?: string | undefined
  /** Start time, in milliseconds since the epoch. Exclusive with `delayMs`. */
  readonly notBefore?: number | undefined
  /** Delay after the coordinator's decision. Exclusive with `notBefore`. */
  readonly delayMs?: number | undefined
  readonly requestId?: string | undefined
  readonly executionWindowMs?: number | undefined
  readonly retryPolicy?: RetryPolicy | undefined
}

/** Leases a task from one of the queues. */
export interface Lease {
  readonly kind: 'lease'
  readonly id: number
  readonly queues: readonly string[]
  /** Maximum time to wait for a task; 0 answers immediately. */
  readonly waitMs: number
}

/**
 * Whether this is a lease request that may wait for a task. Polls are counted separately, so that waiting
 * polls never hold up a heartbeat or a report on the same connection.
 */
export function isPoll(request: { readonly kind: string; readonly waitMs?: number }): boolean {
  return request.kind === 'lease' && request.waitMs !== 0
}

/** Extends a lease. */
export interface Heartbeat {
  readonly kind: 'heartbeat'
  readonly id: number
  readonly taskId: number
  readonly leaseId: number
}

export interface Complete {
  readonly kind: 'complete'
  readonly id: number
  readonly taskId: number
  readonly leaseId: number
  /** Idempotency key: resending the report with the same id is safe. */
  readonly reportId?: string | undefined
  readonly result?: Uint8Array | undefined
}

export interface Fail {
  readonly kind: 'fail'
  readonly id: number
  readonly taskId: number
  readonly leaseId: number
  readonly reason: string
  readonly reportId?: string | undefined
}

/** Ends the task as DEAD. */
export interface Kill {
  readonly kind: 'kill'
  readonly id: number
  readonly taskId: number
  readonly reason: string
}

export interface Get {
  readonly kind: 'get'
  readonly id: number
  readonly taskId: number
}

export const taskStates = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const
export type TaskState = (typeof taskStates)[number]

/** Lists tasks in the order of their ids, one page at a time. */
export interface List {
  readonly kind: 'list'
  readonly id: number
  readonly state?: TaskState | undefined
  readonly queue?: string | undefined
  readonly fromTaskId: number
  readonly limit: number
}

export interface Workers {
  readonly kind: 'workers'
  readonly id: number
}

export interface Stats {
  readonly kind: 'stats'
  readonly id: number
}

export interface Ping {
  readonly kind: 'ping'
  readonly id: number
}

/** Ends the wait of a `lease` request, which is answered immediately with a task or empty. */
export interface Withdraw {
  readonly kind: 'withdraw'
  readonly id: number
  /** The `id` of the waiting request. */
  readonly of: number
}

/** Writes a checkpoint of the log now. */
export interface Checkpoint {
  readonly kind: 'checkpoint'
  readonly id: number
}

/** Asks why a task is not running, or where it runs. */
export interface Why {
  readonly kind: 'why'
  readonly id: number
  readonly taskId: number
}

/**
 * Where a page of a history begins. Besides the LSN, it carries facts from earlier pages, because a record
 * need not name its task. To get the next page, send the cursor of the previous one.
 */
export interface HistoryCursor {
  readonly fromLsn: number
  /** The lease that owned the task at `fromLsn`. */
  readonly leaseId?: number | undefined
  /** Number of retries that were left at `fromLsn`. */
  readonly retriesLeft?: number | undefined
  /** LSN of the record that ended the task, if it had ended. */
  readonly endedLsn?: number | undefined
}

/** Returns the log records of one task, one page at a time. */
export interface History extends HistoryCursor {
  readonly kind: 'history'
  readonly id: number
  readonly taskId: number
}
