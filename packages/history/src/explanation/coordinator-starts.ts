import type { Account } from './account.js'

/** A coordinator that started while the task was there. */
export interface CoordinatorStart {
  readonly epoch: number
  readonly firstLsn: number
  readonly at: number
  /** A coordinator was there then for the last time that is known of. */
  readonly lastKnownAt?: number
  /** Nobody was there for longer. */
  readonly downMsMax?: number
  /** Only the task's own records tell when somebody was there last; those of others may be later. */
  readonly isByOwnRecords: boolean
}

/** The start in which the record with this LSN was written. */
export function coordinatorStart(account: Account, lsn: number): CoordinatorStart | undefined {
  return coordinatorStarts(account).findLast(({ firstLsn }) => firstLsn <= lsn)
}

export function coordinatorStarts(account: Account): CoordinatorStart[] {
  return account.openings
    .filter(({ firstLsn }) => firstLsn > account.taskId)
    .map(({ epoch, firstLsn, at, lastRecordAt }) => {
      const lastKnownAt = lastRecordAt ?? lastOwnBefore(account, firstLsn)
      const known = lastKnownAt === undefined ? {} : { lastKnownAt, downMsMax: at - lastKnownAt }
      return { epoch, firstLsn, at, ...known, isByOwnRecords: lastRecordAt === undefined }
    })
}

/** For how much of a time there may have been no coordinator to hear anybody. */
export function awayMsMax(account: Account, fromAt: number, untilAt: number): number {
  return coordinatorStarts(account)
    .filter(({ at }) => at > fromAt && at <= untilAt)
    .reduce((sum, { at, lastKnownAt = fromAt }) => sum + at - Math.max(fromAt, lastKnownAt), 0)
}

/** Every record was written by a coordinator that ran; of those of other tasks nothing is known here. */
function lastOwnBefore({ entries, attempts, created }: Account, lsn: number): number | undefined {
  const written = entries.findLast((entry) => entry.lsn < lsn)?.record.at
  if (written !== undefined) return written
  const granted = attempts.findLast((attempt) => attempt.leaseId < lsn)
  return granted?.grantedAt ?? created?.at
}
