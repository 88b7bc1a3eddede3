import type { Entry } from './entry.js'

/** What a filter that begins in the middle of a history has to know. */
export interface FilterStart {
  /** Leases of the task that were granted before. */
  readonly leaseIds?: Iterable<number>
  /** The last report or stop of the task, if nothing followed it. */
  readonly endedLsn?: number | undefined
}

/**
 * Which records concern one task: those that name it, extensions of its leases, which name only the
 * lease, and the TasksForgotten that may have dropped it. After a report of failure the last is a
 * guess: a task that waits for its next attempt is not dropped. Who keeps the records knows better.
 */
export class TaskFilter {
  readonly #taskId: number
  readonly #leaseIds: Set<number>
  #endedLsn: number | undefined

  constructor(taskId: number, { leaseIds = [], endedLsn }: FilterStart = {}) {
    this.#taskId = taskId
    this.#leaseIds = new Set(leaseIds)
    this.#endedLsn = endedLsn
  }

  /** With what a filter goes on behind here. */
  get start(): FilterStart {
    return { leaseIds: [...this.#leaseIds], endedLsn: this.#endedLsn }
  }

  takes({ lsn, record }: Entry): boolean {
    switch (record.type) {
      case 'LeaseExtended':
        return this.#leaseIds.has(record.leaseId)
      case 'TasksForgotten':
        return this.#isDropped(record.through)
      default:
        if (record.taskId !== this.#taskId) return false
    }
    if (record.type === 'LeaseGranted') {
      this.#leaseIds.add(record.leaseId)
      this.#endedLsn = undefined
    } else if (ends.has(record.type)) {
      this.#endedLsn = lsn
    }
    return true
  }

  #isDropped(through: number): boolean {
    if (this.#endedLsn === undefined || through < this.#endedLsn) return false
    this.#endedLsn = undefined
    return true
  }
}

const ends: ReadonlySet<string> = new Set(['TaskCompleted', 'TaskFailed', 'TaskDead'])
