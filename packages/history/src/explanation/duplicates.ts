import { omitUndefined } from '../omit-undefined.js'
import type { Duplicate } from './explanation.js'
import type { KnownAttempt } from './known-attempts.js'
import type { KnownTask } from './known-task.js'
import { capital, leaseOf } from './words.js'

/**
 * `semantics` §12, for one task: attempts that expired and were followed by another one. A report
 * with the expired lease proves that its worker kept running. Without one, the log does not show
 * it. An attempt that reported late and was followed by another one had expired, even if the record
 * of the expiry was removed, because no grant follows a death.
 */
export function findDuplicates({ attempts }: KnownTask): Duplicate[] {
  return attempts.slice(0, -1).flatMap((own, index) => {
    const confirmed = own.lateReport !== undefined
    if (own.end?.outcome !== 'EXPIRED' && !confirmed) return []
    const { leaseId, workerId } = own
    const next = attempts[index + 1]!
    return [
      omitUndefined<Duplicate>({
        leaseId,
        workerId,
        nextLeaseId: next.leaseId,
        confirmed,
        evidence: confirmed ? tellProof(own, next) : tellDoubt(own),
      }),
    ]
  })
}

function tellProof(own: KnownAttempt, next: KnownAttempt): string {
  const { leaseId, lateReport } = own
  return `the log proves that ${workerOf(own)} kept running: it reported under lease ${leaseId} after that lease had expired${whenProved(next, lateReport?.lsn)}`
}

function whenProved(next: KnownAttempt, reportLsn: number | undefined): string {
  if (reportLsn === undefined) return ''
  return reportLsn > next.leaseId
    ? ` and ${leaseOf(next)} had been granted`
    : `, before ${leaseOf(next)} was granted`
}

function tellDoubt(own: KnownAttempt): string {
  return `the log does not show whether ${workerOf(own)} kept running after lease ${own.leaseId} had expired: it has no report of that attempt`
}

function workerOf({ workerId }: KnownAttempt): string {
  return workerId === undefined ? 'its worker' : `worker ${workerId}`
}

/** A summary of one or two sentences. */
export function summarizeDuplicates(duplicates: readonly Duplicate[]): string {
  const [only, ...others] = duplicates
  if (only === undefined) return ''
  if (others.length === 0) return `${capital(only.evidence)}.`
  const proved = duplicates.flatMap((own) => (own.confirmed ? [own.leaseId] : []))
  const expired = `${duplicates.length} attempts expired and were followed by another.`
  if (proved.length === 0) {
    return `${expired} The log does not show whether any of their workers kept running: it has no report of these attempts.`
  }
  const who =
    proved.length === 1
      ? `the worker of lease ${proved[0]} kept running: it`
      : `the workers of leases ${proved.join(', ')} kept running: they`
  const doubt = proved.length === duplicates.length ? '' : '; it does not show this for the others'
  return `${expired} The log proves that ${who} reported after the expiry${doubt}.`
}
