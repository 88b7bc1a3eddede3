import type { LogRecord } from '@tenure/state-machine'
import type { Entry } from '../follow/entry.js'
import type { RememberedTask } from './remembered.js'

/** Facts from earlier records that are needed to judge later ones. */
export interface FilterPlace {
  /** The lease that owns the task. */
  readonly leaseId?: number | undefined
  /** How many more failures lead back to WAITING. */
  readonly retriesLeft?: number | undefined
  /** For an ended task: the LSN of the record that ended it. */
  readonly endedLsn?: number | undefined
}

export interface FilterStart extends FilterPlace {
  /** Known leases of the task. */
  readonly leaseIds?: Iterable<number>
}

/**
 * Decides for one record after another whether it concerns a task. Most records name the task. A
 * LeaseExtended names only its lease, and a TasksForgotten no task at all. So the filter remembers
 * facts from earlier records. These form the place from which another filter can continue.
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

  /** No later record can concern the task. */
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

  /** Whether the record concerns the task. If it does, its facts are remembered. */
  takes({ lsn, record }: Entry): boolean {
    if (!this.concerns(record)) return false
    this.#take(lsn, record)
    return true
  }

  /** Like `takes`, but remembers nothing. */
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
   * If the task's creation was removed and nothing else remembers the task, its number of retries
   * is unknown. Then only the record that forgets it cannot be recognised.
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

/** A filter that starts from the remembered task, or before its creation. */
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
