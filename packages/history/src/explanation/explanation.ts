import type { TaskState } from '@tenure/state-machine'
import type { Position } from '../follow/position.js'

// The life of a task, and why it ran as often as it did. Plain data: unknown values are absent.
// Times are milliseconds since the epoch on the coordinator's clock. The README lists the fields.

export interface Explanation {
  readonly taskId: number
  /** The moment up to which the history was read, if that is not its end. */
  readonly asOf?: Position
  /** The answer in one or two sentences. */
  readonly summary: string
  /** Absent if the records with the state were removed. */
  readonly state?: TaskState
  /** How many times the task was leased, as far as known. */
  readonly runs: number
  readonly events: readonly ExplainedEvent[]
  readonly attempts: readonly ExplainedAttempt[]
  readonly overlaps: readonly Overlap[]
  readonly duplicates: readonly Duplicate[]
  /** Why each attempt after the first was made, and for a waiting task, why it will run again. */
  readonly causes: readonly Cause[]
  /** The missing part of the history, and why it is missing. */
  readonly removed?: Removed
}

export interface ExplainedEvent {
  /** For heartbeats, the LSN of the last one. Absent if only the fact is remembered. */
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
  /** The client or worker that caused it, or the time limit that had passed. */
  readonly why?: string
  readonly notes?: readonly string[]
  /** Its record was removed or not read. A checkpoint or a coordinator remembers it. */
  readonly remembered?: true
}

export interface ExplainedAttempt {
  /** 1 for the first one. */
  readonly attempt?: number
  readonly leaseId: number
  readonly workerId?: string
  readonly grantedAt?: number
  /** How long the task had been eligible before this attempt. */
  readonly waitedMs?: number
  /** Including extensions. */
  readonly leaseExpiry?: number
  readonly heartbeats: Heartbeats
  /** Absent while its lease has not ended. */
  readonly end?: ExplainedEnd
  readonly lateReport?: LateReport
  /** The next attempt. */
  readonly supersededBy?: { readonly attempt?: number; readonly leaseId: number }
  readonly remembered?: true
}

export interface Heartbeats {
  /** Heartbeats that extended the lease. Others leave no record. */
  readonly count: number
  readonly lastAt?: number
  /** The shortest time left on the lease when a heartbeat extended it. */
  readonly smallestMarginMs?: number
  /** The longest time between grant, heartbeats, and the end or the expiry, whichever is earlier. */
  readonly longestSilenceMs?: number
  /** There may be earlier heartbeats before this LSN, whose records were removed. */
  readonly fromLsn?: number
}

export interface ExplainedEnd {
  readonly outcome: 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
  readonly at: number
  readonly lsn?: number
  readonly reason?: string
  readonly reportId?: string
  /** For an expiry: found when a coordinator started. */
  readonly atStart?: boolean
  /** For a failure: its number, and how long and until when the task had to wait. */
  readonly failures?: number
  readonly backoffMs?: number
  readonly eligibleAt?: number
}

/** A report that was CANCELLED. */
export interface LateReport {
  readonly lsn?: number
  readonly at?: number
  /** Time since the expiry, or since the task was stopped. */
  readonly lateMs?: number
  /** The state of the task at that time. */
  readonly state?: TaskState
  /** The newest attempt at that time, if it was another one. */
  readonly supersededBy?: { readonly attempt?: number; readonly leaseId: number }
}

/** Two attempts that lasted at the same time. An attempt lasts until it is reported. */
export interface Overlap {
  readonly leaseIds: readonly [earlier: number, later: number]
  readonly fromAt: number
  /** Absent if unknown. */
  readonly untilAt?: number
  readonly ms?: number
  /**
   * True if the earlier attempt was reported after the later one was granted. Otherwise its worker
   * may or may not have kept running.
   */
  readonly certain: boolean
}

/** An attempt that expired and was followed by another one, so the task may have been executed twice. */
export interface Duplicate {
  readonly leaseId: number
  readonly workerId?: string
  /** The lease that was granted next. */
  readonly nextLeaseId: number
  /** A report with the expired lease proves that its worker kept running. The metric counts the same. */
  readonly confirmed: boolean
  /** The evidence in the log, as text. */
  readonly evidence: string
}

export type CauseKind =
  /** The lease expired, and a report came later. */
  | 'REPORTED_LATE'
  /** The lease expired, and no report came. */
  | 'NO_REPORT'
  /** The lease had expired when a coordinator started. */
  | 'COORDINATOR_DOWN'
  /** The execution window ended, so the lease could not be extended further. */
  | 'WINDOW_OVER'
  /** The worker reported a failure, and retries were left. */
  | 'FAILED'
  /** The records with the cause were removed. */
  | 'NOT_KNOWN'

export interface Cause {
  /** The attempt that had to be made. Absent if its number is unknown. */
  readonly attempt?: number
  readonly kind: CauseKind
  /** The cause as text. */
  readonly because: string
  /** The attempt before it. */
  readonly leaseId?: number
  readonly workerId?: string
  readonly expiredAt?: number
  /** From the last heartbeat, or the grant, to the expiry. */
  readonly silenceMs?: number
  /** From the expiry to the report. */
  readonly lateMs?: number
  readonly reported?: boolean
  /** COORDINATOR_DOWN: the epoch and time of the start, and the longest possible downtime. */
  readonly epoch?: number
  readonly startedAt?: number
  readonly downMsMax?: number
  readonly executionWindowMs?: number
  readonly reason?: string
  readonly failures?: number
  readonly retriesMax?: number
}

export interface Removed {
  /** The first LSN that has a record. Absent if no records were read. */
  readonly firstLsn?: number
  /** Attempts that are not remembered either. Absent if their number is unknown. */
  readonly attempts?: number
}

export interface ExplainOptions {
  /** The coordinator's time, for events that have not ended yet. */
  readonly now?: number
  /** The moment at which the history was cut. */
  readonly asOf?: Position
}
