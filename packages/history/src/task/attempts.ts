import type { RecordOf } from '@tenure/state-machine'
import type { Entry } from '../follow/entry.js'

/** One attempt with all its records. */
export interface TrackedAttempt {
  readonly taskId: number
  /** 1 for the first one. */
  readonly attempt: number
  /** The LSN of the record that granted it. */
  readonly leaseId: number
  readonly workerId: string
  readonly grantedAt: number
  /** As granted, before any heartbeat. */
  readonly leaseExpiry: number
  readonly heartbeats: readonly TrackedHeartbeat[]
  /** Absent while its lease has not ended. */
  readonly end?: AttemptEnd
  /** A report that came after the lease had lost its authority. */
  readonly lateReport?: { readonly lsn: number; readonly at: number }
}

export interface TrackedHeartbeat {
  readonly lsn: number
  readonly at: number
  readonly newLeaseExpiry: number
}

export interface AttemptEnd {
  readonly lsn: number
  readonly at: number
  readonly outcome: 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
  /** For an expiry: found when a coordinator started. */
  readonly atStart?: boolean
  /** Why it failed, or why the task was stopped. */
  readonly reason?: string
  readonly reportId?: string
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] }
type Tracked = Writable<TrackedAttempt> & { readonly heartbeats: TrackedHeartbeat[] }

/**
 * Follows the attempts of one task or of all tasks through their records. Does not check the
 * records; `apply` does.
 */
export class AttemptTracker {
  readonly #byLease = new Map<number, Tracked>()
  readonly #newest = new Map<number, Tracked>()

  /** The attempt of the record, after the record. `undefined` if it is not known. */
  add({ lsn, record }: Entry): TrackedAttempt | undefined {
    switch (record.type) {
      case 'LeaseGranted':
        return this.#begin(record)
      case 'LeaseExtended': {
        const { at, newLeaseExpiry, leaseId } = record
        const attempt = this.#byLease.get(leaseId)
        attempt?.heartbeats.push({ lsn, at, newLeaseExpiry })
        return attempt
      }
      case 'LeaseExpired':
        return this.#end(record.leaseId, endOf(lsn, record.at, 'EXPIRED', record))
      case 'TaskCompleted':
        return this.#end(record.leaseId, endOf(lsn, record.at, 'COMPLETED', record))
      case 'TaskFailed':
        return this.#end(
          record.leaseId,
          endOf(lsn, record.at, 'FAILED', { ...record, reason: record.failureReason }),
        )
      case 'TaskDead': {
        const running = this.#newest.get(record.taskId)
        if (running === undefined || hasLostLease(running)) return undefined
        return this.#end(running.leaseId, endOf(lsn, record.at, 'DEAD', record))
      }
      case 'TaskCancelled': {
        const attempt = this.#byLease.get(record.leaseId)
        if (attempt !== undefined) attempt.lateReport = { lsn, at: record.at }
        return attempt
      }
      default:
        return undefined
    }
  }

  get(leaseId: number): TrackedAttempt | undefined {
    return this.#byLease.get(leaseId)
  }

  /** In the order of their grants. */
  all(): IterableIterator<TrackedAttempt> {
    return this.#byLease.values()
  }

  /** Drops an attempt that is no longer needed, for callers that follow many tasks. */
  forget(leaseId: number): void {
    const attempt = this.#byLease.get(leaseId)
    if (attempt === undefined) return
    this.#byLease.delete(leaseId)
    if (this.#newest.get(attempt.taskId) === attempt) this.#newest.delete(attempt.taskId)
  }

  #begin({ taskId, attempt, leaseId, workerId, at, leaseExpiry }: RecordOf<'LeaseGranted'>) {
    const begun = { taskId, attempt, leaseId, workerId, grantedAt: at, leaseExpiry, heartbeats: [] }
    this.#byLease.set(leaseId, begun)
    this.#newest.set(taskId, begun)
    return begun
  }

  #end(leaseId: number, end: AttemptEnd): TrackedAttempt | undefined {
    const attempt = this.#byLease.get(leaseId)
    if (attempt !== undefined) attempt.end = end
    return attempt
  }
}

/** A late report shows that the lease was lost, even if the record of its end was removed. */
function hasLostLease({ end, lateReport }: TrackedAttempt): boolean {
  return end !== undefined || lateReport !== undefined
}

interface Said {
  readonly atStart?: boolean
  readonly reason?: string
  readonly reportId?: string
}

function endOf(
  lsn: number,
  at: number,
  outcome: AttemptEnd['outcome'],
  { atStart, reason, reportId }: Said,
): AttemptEnd {
  const end: Writable<AttemptEnd> = { lsn, at, outcome }
  if (atStart !== undefined) end.atStart = atStart
  if (reason !== undefined) end.reason = reason
  if (reportId !== undefined) end.reportId = reportId
  return end
}
