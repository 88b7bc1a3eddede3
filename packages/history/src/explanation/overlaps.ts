import type { Account } from './account.js'
import type { Overlap } from './explanation.js'
import type { KnownAttempt } from './known-attempts.js'

/**
 * Attempts that lasted at once. One that is reported late lasted until then: with each later one it
 * shares the time from the grant to the report, or to that one's end. Of one that was never reported
 * nobody knows how long its worker went on: it may have been beside the next one, and beyond.
 */
export function findOverlaps({ attempts }: Account): Overlap[] {
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

/** That it was reported late is remembered, and not when. */
function isUndated({ lateReport }: KnownAttempt): boolean {
  return lateReport !== undefined && lateReport.at === undefined
}

/** One that expired itself may last beyond its expiry: as its report says, where one came. */
function endedBy({ lateReport }: KnownAttempt, endedAt = Number.POSITIVE_INFINITY): number {
  return Math.max(endedAt, lateReport?.at ?? endedAt)
}

function between(earlier: KnownAttempt, later: KnownAttempt) {
  return { leaseIds: [earlier.leaseId, later.leaseId] as const }
}
