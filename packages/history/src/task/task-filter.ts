import type { LogRecord } from '@tenure/state-machine'
import type { Entry } from '../follow/entry.js'
import type { RememberedTask } from './remembered.js'

/** What the records before have said, as far as those behind them cannot be told apart without it. */
export interface FilterPlace {
  /** The lease that owns the task. */
  readonly leaseId?: number | undefined
  /** How many more failures would send it back to WAITING. */
  readonly retriesLeft?: number | undefined
  /** Of a task that has ended: the LSN of the record that ended it. */
  readonly endedLsn?: number | undefined
}

export interface FilterStart extends FilterPlace {
  /** Leases that the task is known to have had. */
  readonly leaseIds?: Iterable<number>
}

/**
 * Says of one record after the other whether it concerns a task. Most name it. A LeaseExtended names
 * its lease only, and a TasksForgotten no task at all, so what the records before have said is
 * remembered: it is the place at which another filter goes on.
 */
export class TaskFilter {
  readonly #taskId: number
  readonly #leaseIds: Set<number>
  #leaseId: number | undefined
  #retriesLeft: number | undefined
  #endedLsn: number | undefined
  #isForgotten = false

  constructor(taskId: number, { leaseIds = [], ...place }: FilterStart = {}) {
    this.#taskId = taskId
    this.#leaseIds = new Set(leaseIds)
    this.#leaseId = place.leaseId
    this.#retriesLeft = place.retriesLeft
    this.#endedLsn = place.endedLsn
    if (place.leaseId !== undefined) this.#leaseIds.add(place.leaseId)
  }

  /** Nothing that follows can concern the task. */
  get isForgotten(): boolean {
    return this.#isForgotten
  }

  get place(): FilterPlace {
    return {
      leaseId: this.#leaseId,
      retriesLeft: this.#retriesLeft,
      endedLsn: this.#endedLsn,
    }
  }

  /** Whether the record concerns the task; if so, what it says is remembered. */
  takes({ lsn, record }: Entry): boolean {
    if (!this.concerns(record)) return false
    this.#take(lsn, record)
    return true
  }

  /** The same, remembering nothing. */
  concerns(record: LogRecord): boolean {
    switch (record.type) {
      case 'LeaseExtended':
        return this.#leaseIds.has(record.leaseId)
      case 'TasksForgotten':
        return this.#endedLsn !== undefined && record.through >= this.#endedLsn
      default:
        return record.taskId === this.#taskId
    }
  }

  #take(lsn: number, record: LogRecord): void {
    switch (record.type) {
      case 'TaskCreated':
        this.#retriesLeft = record.retryPolicy.maxRetries
        break
      case 'LeaseGranted':
        this.#leaseId = record.leaseId
        this.#leaseIds.add(record.leaseId)
        break
      case 'LeaseExpired':
        this.#leaseId = undefined
        break
      case 'TaskFailed':
        this.#takeFailure(lsn)
        break
      case 'TaskCompleted':
      case 'TaskDead':
        this.#end(lsn)
        break
      case 'TasksForgotten':
        this.#isForgotten = true
        this.#endedLsn = undefined
        break
      case 'LeaseExtended':
      case 'TaskCancelled':
    }
  }

  /**
   * A task whose creation is not in the log any more, and that nobody remembers, has failed in a way
   * that cannot be told, so that its being forgotten is not found; nothing else is missed.
   */
  #takeFailure(lsn: number): void {
    this.#leaseId = undefined
    if (this.#retriesLeft === 0) this.#end(lsn)
    else if (this.#retriesLeft !== undefined) this.#retriesLeft--
  }

  #end(lsn: number): void {
    this.#leaseId = undefined
    this.#endedLsn = lsn
  }
}

/** A filter that begins where the task was as it is remembered, or where it was not yet there. */
export function filterBehind(taskId: number, remembered: RememberedTask | undefined): TaskFilter {
  if (remembered === undefined) return new TaskFilter(taskId)
  const { attempts, currentLeaseId, endedLsn, retryPolicy, failures } = remembered
  return new TaskFilter(taskId, {
    leaseIds: attempts.map(({ leaseId }) => leaseId),
    retriesLeft: Math.max(0, retryPolicy.maxRetries - failures),
    leaseId: currentLeaseId ?? undefined,
    endedLsn,
  })
}
