import type { HistoryPlace } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'

/**
 * Says of one record after the other whether it concerns a task. Most name it. A LeaseExtended names
 * its lease only, and a TasksForgotten no task at all, so what the records before have said is
 * remembered: it is the place at which another scan goes on.
 */
export class HistoryScan {
  readonly #taskId: number
  readonly #leaseIds: Set<number>
  #leaseId: number | undefined
  #retriesLeft: number | undefined
  #endedLsn: number | undefined
  #isForgotten = false

  constructor(taskId: number, place: HistoryPlace, leaseIds: readonly number[]) {
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

  /** Where to go on from an LSN, when all before it has been looked at. */
  placeAt(fromLsn: number): HistoryPlace {
    return {
      fromLsn,
      ...(this.#leaseId !== undefined && { leaseId: this.#leaseId }),
      ...(this.#retriesLeft !== undefined && { retriesLeft: this.#retriesLeft }),
      ...(this.#endedLsn !== undefined && { endedLsn: this.#endedLsn }),
    }
  }

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

  /** Remembers what a record that concerns the task says. */
  take(lsn: number, record: LogRecord): void {
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
        break
      case 'LeaseExtended':
      case 'TaskCancelled':
    }
  }

  /**
   * A task whose creation is not in the log any more has failed in a way that cannot be told, so
   * that its being forgotten is not found; nothing else of its history is missed.
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
