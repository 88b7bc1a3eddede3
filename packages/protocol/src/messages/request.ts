import type { RetryPolicy } from '@tenure/options'

/**
 * What a client or worker asks. `id` is the asker's own number for the request, by which it knows
 * the answer: answers come in any order.
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

/** A request to be numbered by whoever sends it. */
export type NewRequest = WithoutId<Request>

type WithoutId<R> = R extends Request ? Omit<R, 'id'> : never

export type RequestOf<K extends RequestKind> = Extract<Request, { kind: K }>

/** A new task. What is absent is filled in by the coordinator's defaults. */
export interface Submit {
  readonly kind: 'submit'
  readonly id: number
  readonly payload: Uint8Array
  readonly queue?: string | undefined
  /** Eligible from then on, in milliseconds since the epoch. Not together with `delayMs`. */
  readonly notBefore?: number | undefined
  /** Eligible so long after the coordinator's decision. */
  readonly delayMs?: number | undefined
  readonly requestId?: string | undefined
  readonly executionWindowMs?: number | undefined
  readonly retryPolicy?: RetryPolicy | undefined
}

/** A task of one of the queues, to own it for a while. */
export interface Lease {
  readonly kind: 'lease'
  readonly id: number
  readonly queues: readonly string[]
  /** How long to wait for a task when there is none; 0 answers at once. */
  readonly waitMs: number
}

/**
 * Whether it is a lease request that may wait for a task. Such are counted by themselves: however
 * many of them wait, a heartbeat or a report gets through on the same connection.
 */
export function isPoll(request: { readonly kind: string; readonly waitMs?: number }): boolean {
  return request.kind === 'lease' && request.waitMs !== 0
}

/** The worker is still at it. */
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
  /** The worker's name for this report, the same when the report is sent again. */
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

/** Stop the task for good. */
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

/** Tasks in the order of their ids, a page at a time. */
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

/** Ends the wait of a `lease` request: it is answered now, with a task or empty. */
export interface Withdraw {
  readonly kind: 'withdraw'
  readonly id: number
  /** The `id` of the request that waits. */
  readonly of: number
}

/** Do now what a restart would have to do: a checkpoint of the log. */
export interface Checkpoint {
  readonly kind: 'checkpoint'
  readonly id: number
}

/** Why a task is not running now, or where it is. */
export interface Why {
  readonly kind: 'why'
  readonly id: number
  readonly taskId: number
}

/**
 * Where a page of a history begins. All but the LSN says what the pages before have found out, for a
 * record need not name its task: a page that goes on is asked for with what the one before gave.
 */
export interface HistoryPlace {
  readonly fromLsn: number
  /** The lease that owned the task there. */
  readonly leaseId?: number | undefined
  /** How many more failures would have sent it back to WAITING. */
  readonly retriesLeft?: number | undefined
  /** Of a task that had ended: the LSN of the record that ended it. */
  readonly endedLsn?: number | undefined
}

/** The records of the log that concern one task, a page at a time. */
export interface History extends HistoryPlace {
  readonly kind: 'history'
  readonly id: number
  readonly taskId: number
}
