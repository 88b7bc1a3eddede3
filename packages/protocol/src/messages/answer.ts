import type { Facts } from '../wire/listed-fields.js'
import type { Reason } from './reasons.js'
import type { HistoryPlace } from './request.js'

/** What the coordinator answers; `id` is that of the request. */
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

/** The task is on the disk. */
export interface Submitted {
  readonly kind: 'submitted'
  readonly id: number
  readonly taskId: number
  /** The same submission had been made before under its `requestId`; this is its task. */
  readonly known: boolean
}

/** How long a lease lasts: an absolute time for people, and two durations for the worker's own clock. */
export interface LeaseTerms {
  readonly leaseExpiry: number
  /** No heartbeat extends the lease past this. */
  readonly windowEnd: number
  /** From the arrival of the request to the decision. */
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

/** There was no task. */
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
  /** The state of the task now: COMPLETED, FAILED, or WAITING for another attempt. */
  readonly state: string
  /** When it is WAITING: from when on. */
  readonly eligibleAt?: number | undefined
}

/** The report came without authority; its result was discarded. */
export interface Cancelled {
  readonly kind: 'cancelled'
  readonly id: number
  readonly reason: Reason
  /** The lease that owns the task now, or owned it last, where it is another one. */
  readonly supersededBy?: number | undefined
}

/** The request was refused; nothing has changed. */
export interface Rejected {
  readonly kind: 'rejected'
  readonly id: number
  readonly reason: Reason
  /** For people. */
  readonly message: string
  /** When to come back, where coming back helps. */
  readonly retryAfterMs?: number | undefined
}

export interface Killed {
  readonly kind: 'killed'
  readonly id: number
  /** It was DEAD before. */
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
  /** Where the next page begins; absent at the end. */
  readonly nextTaskId?: number | undefined
}

export interface WorkersFound {
  readonly kind: 'workers'
  readonly id: number
  readonly workers: readonly Facts[]
  /** How many more there are, for whom there was no room. */
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

/** A record of the log as it stands there, in the encoding of the state machine. */
export interface HistoryRecord {
  readonly lsn: number
  readonly bytes: Uint8Array
}

/** A coordinator opened the log. The first record it could write was this one. */
export interface Opening {
  readonly epoch: number
  readonly firstLsn: number
  readonly at: number
}

export interface HistoryFound {
  readonly kind: 'history'
  readonly id: number
  /** The first one that the log still holds. */
  readonly firstLsn: number
  readonly records: readonly HistoryRecord[]
  /** In the range of the log that this page has looked at. */
  readonly openings: readonly Opening[]
  /** Where to go on; absent at the end of what was on the disk when the page was asked for. */
  readonly next?: HistoryPlace | undefined
}
