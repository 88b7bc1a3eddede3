import type { Overlap } from './explanation.js'
import type { KnownAttempt } from './known-attempts.js'
import type { KnownTask } from './known-task.js'

/**
 * Finds attempts that lasted at the same time. A late report shows that its attempt lasted until
 * then. It overlaps with each later attempt from the grant to the report, or to that attempt's end.
 * For an attempt without a report the end is unknown: it may have overlapped with the next one and
 * with later ones.
 */
export function findOverlaps({ attempts }: KnownTask): Overlap[] {
  return attempts.flatMap((earlier, index) => {
    if (earlier.end !== undefined && earlier.end.outcome !== 'EXPIRED') return []
    const reportedAt = earlier.lateReport?.at
    if (reportedAt !== undefined) return overlapsUntil(earlier, reportedAt, attempts, index + 1)
    const next = attempts[index + 1]
    if (next?.grantedAt === undefined) return []
    return [{ ...between(earlier, next), fromAt: next.grantedAt, certain: false }]
  })
}

function overlapsUntil(
  earlier: KnownAttempt,
  reportedAt: number,
  attempts: readonly KnownAttempt[],
  from: number,
): Overlap[] {
  const overlaps: Overlap[] = []
  for (let index = from; index < attempts.length; index++) {
    const later = attempts[index]!
    const { grantedAt: fromAt, end } = later
    if (fromAt === undefined) continue
    if (fromAt >= reportedAt) break
    if (isUndated(later) && end !== undefined && reportedAt > end.at) {
      overlaps.push({ ...between(earlier, later), fromAt, certain: true })
      continue
    }
    const untilAt = Math.min(reportedAt, endedBy(later, end?.at))
    if (untilAt <= fromAt) continue
    const ms = untilAt - fromAt
    overlaps.push({ ...between(earlier, later), fromAt, untilAt, ms, certain: true })
  }
  return overlaps
}

/** The late report is remembered, but not its time. */
function isUndated({ lateReport }: KnownAttempt): boolean {
  return lateReport !== undefined && lateReport.at === undefined
}

/** An attempt that expired may last beyond its expiry, until its late report. */
function endedBy({ lateReport }: KnownAttempt, endedAt = Number.POSITIVE_INFINITY): number {
  return Math.max(endedAt, lateReport?.at ?? endedAt)
}

function between(earlier: KnownAttempt, later: KnownAttempt) {
  return { leaseIds: [earlier.leaseId, later.leaseId] as const }
}
