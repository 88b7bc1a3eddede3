import type { Facts } from '../wire/fields.js'
import type { Reason } from './reasons.js'
import type { HistoryCursor } from './request.js'

/** The coordinator's answer; `id` is that of the request. */
export type Answer =
  | Submitted
  | Leased
  | Empty
  | Extended
  | Committed
  | Cancelled
  | Rejected
  | Killed
  | TaskFound
  | TasksFound
  | WorkersFound
  | StatsFound
  | Pong
  | Withdrawn
  | WhyFound
  | HistoryFound
  | CheckpointMade

export type AnswerKind = Answer['kind']

/** The task is durable. */
export interface Submitted {
  readonly kind: 'submitted'
  readonly id: number
  readonly taskId: number
  /** Whether the task existed already, under the same `requestId`. */
  readonly known: boolean
}

/** Limits of a lease: absolute times for people, and durations for the worker's own clock. */
export interface LeaseTerms {
  readonly leaseExpiry: number
  /** Heartbeats never extend the lease past this time. */
  readonly windowEnd: number
  /** From the arrival of the request to the coordinator's decision. */
  readonly heldMs: number
  /** From the decision to the expiry. */
  readonly leaseMs: number
  /** From the decision to the end of the window. */
  readonly windowMs: number
}

export interface Leased extends LeaseTerms {
  readonly kind: 'leased'
  readonly id: number
  readonly taskId: number
  readonly leaseId: number
  readonly attempt: number
  readonly queue: string
  readonly payload: Uint8Array
}

/** No task was available. */
export interface Empty {
  readonly kind: 'empty'
  readonly id: number
}

export interface Extended extends LeaseTerms {
  readonly kind: 'extended'
  readonly id: number
}

/** The report was accepted. */
export interface Committed {
  readonly kind: 'committed'
  readonly id: number
  /** The new state of the task: COMPLETED, FAILED, or WAITING for another attempt. */
  readonly state: string
  /** When a WAITING task becomes eligible. */
  readonly eligibleAt?: number | undefined
}

/** The lease had lost its authority before the report arrived; the result was discarded. */
export interface Cancelled {
  readonly kind: 'cancelled'
  readonly id: number
  readonly reason: Reason
  /** The lease that owns or last owned the task, if it is another one. */
  readonly supersededBy?: number | undefined
}

/** The request was rejected and changed nothing. */
export interface Rejected {
  readonly kind: 'rejected'
  readonly id: number
  readonly reason: Reason
  /** A description for people. */
  readonly message: string
  /** How long to wait before a retry, if a retry can help. */
  readonly retryAfterMs?: number | undefined
  /** With NOT_ACTIVE: the address of the active coordinator, if it is known. */
  readonly active?: string | undefined
}

export interface Killed {
  readonly kind: 'killed'
  readonly id: number
  /** Whether the task was DEAD already. */
  readonly known: boolean
}

export interface TaskFound {
  readonly kind: 'task'
  readonly id: number
  readonly task: Facts
}

export interface TasksFound {
  readonly kind: 'tasks'
  readonly id: number
  readonly tasks: readonly Facts[]
  /** Where the next page begins; absent on the last page. */
  readonly nextTaskId?: number | undefined
}

export interface WorkersFound {
  readonly kind: 'workers'
  readonly id: number
  readonly workers: readonly Facts[]
  /** Number of workers that did not fit into the answer. */
  readonly leftOut: number
}

export interface StatsFound {
  readonly kind: 'stats'
  readonly id: number
  readonly stats: Facts
}

export interface Pong {
  readonly kind: 'pong'
  readonly id: number
}

export interface Withdrawn {
  readonly kind: 'withdrawn'
  readonly id: number
}

export interface WhyFound {
  readonly kind: 'why'
  readonly id: number
  readonly why: Facts
}

export interface CheckpointMade {
  readonly kind: 'checkpointed'
  readonly id: number
  readonly checkpoint: Facts
}

/** A record of the log, in the encoding of the state machine. */
export interface HistoryRecord {
  readonly lsn: number
  readonly bytes: Uint8Array
}

/** An opening of the log by a coordinator. `firstLsn` is the first LSN that it could write. */
export interface Opening {
  readonly epoch: number
  readonly firstLsn: number
  readonly at: number
}

export interface HistoryFound {
  readonly kind: 'history'
  readonly id: number
  /** The oldest LSN that the log still contains. */
  readonly firstLsn: number
  readonly records: readonly HistoryRecord[]
  /** Openings in the part of the log that this page covers. */
  readonly openings: readonly Opening[]
  /** Where the next page begins. Absent at the end of the log, as it was durable at the request. */
  readonly next?: HistoryCursor | undefined
}
