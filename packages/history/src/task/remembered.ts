import type { Attempt, Task } from '@tenure/state-machine'
import type { Entry } from '../follow/entry.js'
import { omitUndefined } from '../omit-undefined.js'

/** A task as remembered by a checkpoint or a coordinator. */
export interface RememberedTask extends Omit<Task, 'attempts' | 'leaseExpiry'> {
  readonly attempts: readonly RememberedAttempt[]
}

export interface RememberedAttempt extends Omit<Attempt, 'leaseExpiry'> {
  /**
   * The expiry as granted or extended by then. Absent if it was extended later, because its earlier
   * value is unknown.
   */
  readonly leaseExpiry?: number
}

/**
 * The task as it was before these records. The checkpoint may be later than the requested moment,
 * and later events must not be shown.
 */
export function rewind(
  // Its attempts contain the lease, too, and whether it was extended later.
  { leaseExpiry: _leaseExpiry, ...task }: Task,
  later: readonly Entry[],
): RememberedTask {
  const records = later.map(({ record }) => record)
  const among = (type: Entry['record']['type'], leaseId: number) =>
    records.some((record) => {
      return record.type === type && 'leaseId' in record && record.leaseId === leaseId
    })
  const isStopped = records.some(({ type }) => type === 'TaskDead')
  const attempts = task.attempts
    .filter(({ leaseId }) => !among('LeaseGranted', leaseId))
    .map(({ leaseExpiry, ...own }): RememberedAttempt => {
      const { endedAt: _endedAt, reportId: _reportId, ...open } = own
      const isEnded =
        endings.some((type) => among(type, own.leaseId)) || (isStopped && own.outcome === 'DEAD')
      return omitUndefined<RememberedAttempt>({
        ...(isEnded ? open : own),
        outcome: isEnded ? 'OPEN' : own.outcome,
        leaseExpiry: among('LeaseExtended', own.leaseId) ? undefined : leaseExpiry,
        cancelled: own.cancelled && !among('TaskCancelled', own.leaseId),
      })
    })
  if (!records.some(({ type }) => moves.has(type))) return { ...task, attempts }
  const { endedLsn: _, reason: __, eligibleAt: ___, workerId: ____, result: _____, ...rest } = task
  return { ...rest, ...standing(task, attempts, records), attempts }
}

function standing(
  { attempt, failures, createdAt }: Omit<Task, 'leaseExpiry'>,
  attempts: readonly RememberedAttempt[],
  records: readonly Entry['record'][],
) {
  const count = (type: string) => records.filter((record) => record.type === type).length
  const last = attempts.at(-1)
  const isOpen = last?.outcome === 'OPEN'
  return {
    attempt: attempt - count('LeaseGranted'),
    failures: failures - count('TaskFailed'),
    state: isOpen ? ('LEASED' as const) : ('WAITING' as const),
    stateSince: (isOpen ? last.grantedAt : last?.endedAt) ?? createdAt,
    currentLeaseId: isOpen ? last.leaseId : null,
  }
}

const endings = ['LeaseExpired', 'TaskCompleted', 'TaskFailed'] as const
const moves: ReadonlySet<string> = new Set([...endings, 'LeaseGranted', 'TaskDead'])
