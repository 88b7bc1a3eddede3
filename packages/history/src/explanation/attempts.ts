import type { TaskState } from '@tenure/state-machine'
import { omitUndefined } from '../omit-undefined.js'
import type { ExplainedAttempt, Heartbeats, LateReport } from './explanation.js'
import { isNext, type KnownAttempt } from './known-attempts.js'
import type { KnownTask } from './known-task.js'

export function explainAttempts(task: KnownTask): ExplainedAttempt[] {
  const { attempts } = task
  return attempts.map((own, index) => {
    const { attempt, leaseId, workerId, grantedAt, leaseExpiry, end, isRemembered } = own
    const next = attempts[index + 1]
    const waitedMs = waitedFor(task, index)
    const lateReport = lateReportOf(task, own)
    return omitUndefined<ExplainedAttempt>({
      attempt,
      leaseId,
      workerId,
      grantedAt,
      waitedMs,
      leaseExpiry,
      heartbeats: heartbeatsOf(task, own),
      end,
      lateReport,
      supersededBy: next !== undefined && isNext(own, next) ? named(next) : undefined,
      remembered: isRemembered ? true : undefined,
    })
  })
}

function named({ attempt, leaseId }: KnownAttempt) {
  return omitUndefined<Pick<ExplainedAttempt, 'attempt' | 'leaseId'>>({ attempt, leaseId })
}

/** How long the task had been eligible: since its creation, an expiry, or the end of its backoff. */
function waitedFor({ attempts, created }: KnownTask, index: number): number | undefined {
  const { grantedAt, attempt } = attempts[index]!
  if (grantedAt === undefined) return undefined
  const before = attempts[index - 1]?.end
  if (before !== undefined) {
    const eligibleAt = before.outcome === 'FAILED' ? before.eligibleAt : before.at
    return eligibleAt === undefined ? undefined : grantedAt - eligibleAt
  }
  if (attempt !== 1 || created === undefined) return undefined
  return grantedAt - Math.max(created.at, created.notBefore ?? created.at)
}

function heartbeatsOf({ removed, now }: KnownTask, own: KnownAttempt): Heartbeats {
  const { heartbeats, isRemembered, end, leaseExpiry, grantedAt } = own
  const count = heartbeats.length
  const last = heartbeats.at(-1)
  const margin = smallest(marginsOf(own))
  const isOver = end !== undefined || now !== undefined
  const until = Math.min(end?.at ?? now ?? 0, leaseExpiry ?? Number.POSITIVE_INFINITY)
  const signs = [...(grantedAt === undefined ? [] : [grantedAt]), ...heartbeats.map(({ at }) => at)]
  const gaps = [...signs, ...(isOver ? [until] : [])]
    .slice(1)
    .map((at, index) => Math.max(0, at - signs[index]!))
  const isWhole = !isRemembered && gaps.length > 0
  return omitUndefined<Heartbeats>({
    count,
    lastAt: last?.at,
    smallestMarginMs: margin,
    longestSilenceMs: isWhole ? gaps.reduce((a, b) => Math.max(a, b)) : undefined,
    fromLsn: isRemembered ? removed?.firstLsn : undefined,
  })
}

/** The time left on the lease at each heartbeat, without heartbeats for which the lease is unknown. */
export function marginsOf({ firstExpiry, heartbeats }: KnownAttempt): number[] {
  const expiries = [firstExpiry, ...heartbeats.map(({ newLeaseExpiry }) => newLeaseExpiry)]
  return heartbeats.flatMap(({ at }, index) => {
    const before = expiries[index]
    return before === undefined ? [] : [before - at]
  })
}

function smallest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : values.reduce((a, b) => Math.min(a, b))
}

/** A report that was CANCELLED, and the state of the task at that time. */
export function lateReportOf(task: KnownTask, own: KnownAttempt): LateReport | undefined {
  const { lateReport, end, leaseExpiry } = own
  if (lateReport === undefined) return undefined
  const { lsn, at } = lateReport
  if (lsn === undefined || at === undefined) return {}
  const lostAt = end?.outcome === 'DEAD' ? end.at : leaseExpiry
  const newest = task.attempts.findLast(({ leaseId }) => leaseId < lsn)!
  const state = stateThen(task, newest, lsn)
  return omitUndefined<LateReport>({
    lsn,
    at,
    lateMs: lostAt === undefined ? undefined : at - lostAt,
    state,
    supersededBy: newest !== own && newest.attempt !== undefined ? named(newest) : undefined,
  })
}

function stateThen(task: KnownTask, newest: KnownAttempt, lsn: number): TaskState | undefined {
  const { death } = task
  if (death !== undefined && (death.lsn ?? 0) < lsn) return 'DEAD'
  const { end, attempt } = newest
  // There may have been later attempts.
  if (attempt === undefined) return undefined
  // Its end is unknown, or came later.
  if (end === undefined) return newest.lateReport?.lsn === lsn ? undefined : 'LEASED'
  if (end.lsn !== undefined && end.lsn > lsn) return 'LEASED'
  if (end.outcome === 'EXPIRED') return 'WAITING'
  if (end.outcome !== 'FAILED') return end.outcome
  if (end.eligibleAt !== undefined) return 'WAITING'
  return end.failures === undefined ? undefined : 'FAILED'
}
