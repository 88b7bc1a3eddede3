import type { KnownTask } from './known-task.js'

/** A start of the coordinator during the life of the task. */
export interface CoordinatorStart {
  readonly epoch: number
  readonly firstLsn: number
  readonly at: number
  /** The last time at which a coordinator is known to have been running before. */
  readonly lastKnownAt?: number
  /** The longest possible downtime before the start. */
  readonly downMsMax?: number
  /**
   * Only the task's own records show when a coordinator was last running. Records of other tasks
   * may be later.
   */
  readonly isByOwnRecords: boolean
}

/** The start of the coordinator that wrote the record with this LSN. */
export function coordinatorStart(task: KnownTask, lsn: number): CoordinatorStart | undefined {
  return coordinatorStarts(task).findLast(({ firstLsn }) => firstLsn <= lsn)
}

export function coordinatorStarts(task: KnownTask): CoordinatorStart[] {
  return task.openings
    .filter(({ firstLsn }) => firstLsn > task.taskId)
    .map(({ epoch, firstLsn, at, lastRecordAt }) => {
      const lastKnownAt = lastRecordAt ?? lastOwnBefore(task, firstLsn)
      const known = lastKnownAt === undefined ? {} : { lastKnownAt, downMsMax: at - lastKnownAt }
      return { epoch, firstLsn, at, ...known, isByOwnRecords: lastRecordAt === undefined }
    })
}

/** For how much of a period there may have been no coordinator to receive heartbeats. */
export function awayMsMax(task: KnownTask, fromAt: number, untilAt: number): number {
  return coordinatorStarts(task)
    .filter(({ at }) => at > fromAt && at <= untilAt)
    .reduce((sum, { at, lastKnownAt = fromAt }) => sum + at - Math.max(fromAt, lastKnownAt), 0)
}

/** The time of the last record of this task. A coordinator was running then. */
function lastOwnBefore({ entries, attempts, created }: KnownTask, lsn: number): number | undefined {
  const written = entries.findLast((entry) => entry.lsn < lsn)?.record.at
  if (written !== undefined) return written
  const granted = attempts.findLast((attempt) => attempt.leaseId < lsn)
  return granted?.grantedAt ?? created?.at
}
