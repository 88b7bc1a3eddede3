import type { TaskState } from '@tenure/state-machine'
import type { Position } from '../follow/position.js'

// What became of a task and why it ran as often as it did. Plain data: what is not known is absent.
// Times are milliseconds since the epoch by the coordinator's clock. The README has the fields.

export interface Explanation {
  readonly taskId: number
  /** The moment up to which it was read, where that is not the end. */
  readonly asOf?: Position
  /** The answer in one sentence or two. */
  readonly summary: string
  /** Absent where the records that would say it were removed. */
  readonly state?: TaskState
  /** How often the task was leased, as far as that is known. */
  readonly runs: number
  readonly events: readonly ExplainedEvent[]
  readonly attempts: readonly ExplainedAttempt[]
  readonly overlaps: readonly Overlap[]
  readonly duplicates: readonly Duplicate[]
  /** Why each attempt behind the first one was made, and, of a task that waits, why it will run again. */
  readonly causes: readonly Cause[]
  /** What the records do not say, and why. */
  readonly removed?: Removed
}

export interface ExplainedEvent {
  /** Of heartbeats, that of the last one. Absent where only the fact is remembered. */
  readonly lsn?: number
  readonly at: number
  readonly kind:
    | 'SUBMITTED'
    | 'LEASED'
    | 'HEARTBEATS'
    | 'COORDINATOR_STARTED'
    | 'EXPIRED'
    | 'COMPLETED'
    | 'FAILED'
    | 'CANCELLED'
    | 'DEAD'
    | 'FORGOTTEN'
  readonly attempt?: number
  readonly leaseId?: number
  readonly worker?: string
  readonly what: string
  /** Who asked for it, or which time had passed. */
  readonly why?: string
  readonly notes?: readonly string[]
  /** Its record was removed, or not read: a checkpoint or a coordinator remembers it. */
  readonly remembered?: true
}

export interface ExplainedAttempt {
  /** 1 for the first one. */
  readonly attempt?: number
  readonly leaseId: number
  readonly workerId?: string
  readonly grantedAt?: number
  /** How long the task had waited for it since it was eligible. */
  readonly waitedMs?: number
  /** As last extended. */
  readonly leaseExpiry?: number
  readonly heartbeats: Heartbeats
  /** Absent while its lease has not ended. */
  readonly end?: ExplainedEnd
  readonly lateReport?: LateReport
  /** The attempt that came after it. */
  readonly supersededBy?: { readonly attempt?: number; readonly leaseId: number }
  readonly remembered?: true
}

export interface Heartbeats {
  /** Those that extended the lease: others leave no record. */
  readonly count: number
  readonly lastAt?: number
  /** What was left of the lease when a heartbeat extended it, in the narrowest case. */
  readonly smallestMarginMs?: number
  /** Between grant, heartbeats, and the end or the expiry, whichever is earlier. */
  readonly longestSilenceMs?: number
  /** There were perhaps more before this LSN, whose records were removed. */
  readonly fromLsn?: number
}

export interface ExplainedEnd {
  readonly outcome: 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
  readonly at: number
  readonly lsn?: number
  readonly reason?: string
  readonly reportId?: string
  /** Of an expiry: seen when a coordinator started. */
  readonly atStart?: boolean
  /** Of a failure: which one it was, how long the task had to wait then, and until when. */
  readonly failures?: number
  readonly backoffMs?: number
  readonly eligibleAt?: number
}

/** A report that was CANCELLED. */
export interface LateReport {
  readonly lsn?: number
  readonly at?: number
  /** Since the expiry, or since the task was stopped. */
  readonly lateMs?: number
  /** What the task was then. */
  readonly state?: TaskState
  /** The newest attempt then, if it was another one. */
  readonly supersededBy?: { readonly attempt?: number; readonly leaseId: number }
}

/** Two attempts lasted at once. An attempt lasts until it is reported. */
export interface Overlap {
  readonly leaseIds: readonly [earlier: number, later: number]
  readonly fromAt: number
  /** Absent where nobody knows. */
  readonly untilAt?: number
  readonly ms?: number
  /** The earlier one was reported after the later one was granted; else its worker may have gone on, or not. */
  readonly certain: boolean
}

/** An attempt that expired and was followed by another one: the task may have been executed twice. */
export interface Duplicate {
  readonly leaseId: number
  readonly workerId?: string
  /** The lease that was granted next. */
  readonly nextLeaseId: number
  /** A report under the expired lease proves that its worker went on, as the metric counts it. */
  readonly confirmed: boolean
  /** What the log proves or cannot tell, in words. */
  readonly evidence: string
}

export type CauseKind =
  /** The lease expired, and a report came after that. */
  | 'REPORTED_LATE'
  /** The lease expired, and no report came. */
  | 'NO_REPORT'
  /** The lease had expired when a coordinator started. */
  | 'COORDINATOR_DOWN'
  /** The lease could not be extended beyond the execution window, and that was over. */
  | 'WINDOW_OVER'
  /** The worker reported a failure, and there were retries left. */
  | 'FAILED'
  /** The records that would say it were removed. */
  | 'NOT_KNOWN'

export interface Cause {
  /** The attempt that had to be made; absent where its number is not known. */
  readonly attempt?: number
  readonly kind: CauseKind
  /** In words. */
  readonly because: string
  /** The attempt before it. */
  readonly leaseId?: number
  readonly workerId?: string
  readonly expiredAt?: number
  /** From the last sign of life, a heartbeat or the grant, to the expiry. */
  readonly silenceMs?: number
  /** From the expiry to the report. */
  readonly lateMs?: number
  readonly reported?: boolean
  /** COORDINATOR_DOWN: which one, when, and at most how long nobody was there. */
  readonly epoch?: number
  readonly startedAt?: number
  readonly downMsMax?: number
  readonly executionWindowMs?: number
  readonly reason?: string
  readonly failures?: number
  readonly retriesMax?: number
}

export interface Removed {
  /** There are records from here on. Absent where none were read. */
  readonly firstLsn?: number
  /** Attempts of which nothing is remembered either; absent where nobody knows how many. */
  readonly attempts?: number
}

export interface ExplainOptions {
  /** The coordinator's time, for what is not over yet. */
  readonly now?: number
  /** Where the history was cut. */
  readonly asOf?: Position
}
