import type { TrackedAttempt } from '../task/attempts.js'
import { heartbeatIntervalMs } from './knobs.js'
import type { Outages } from './outages.js'

/**
 * What would have become of one attempt under another lease and another window.
 *
 * A lease holds from one sign of life to the next: the grant, each heartbeat, the report. The log
 * has the *gap* between two of them. Under another lease the worker would have sent its heartbeats
 * at another interval, so what is carried over is not the gap but by how much it was too long:
 *
 *     recorded      sign ──── interval ────┆─── lateness ───▶ next sign
 *     under knobs   sign ─ interval' ─┆─── lateness ───▶ next sign
 *                   sign ──────────── duration' ──────────▶ expiry
 *
 * The lease is lost if interval' + lateness reaches duration'. With the recorded duration that is
 * the recorded gap, to the millisecond.
 */
export interface Terms {
  /** As the task was submitted with. */
  readonly recordedWindowMs: number
  readonly windowMs: number
  /** `undefined`: as recorded. */
  readonly leaseDurationMs: number | undefined
  readonly heartbeatShare: number
  /** The lease in force where an attempt shows none, its window being shorter. */
  readonly usualDurationMs: number | undefined
}

export type Judgement =
  | { readonly kind: 'kept'; readonly isUncertain: boolean }
  | { readonly kind: 'accepted'; readonly at: number; readonly cause: Cause }
  | {
      readonly kind: 'expires'
      readonly at: number
      readonly atStart: boolean
      /** The last sign of life before. */
      readonly heardAt: number
      readonly cause: Cause
      readonly isUncertain: boolean
    }

/** What the lease was lost or kept for. */
type Cause = 'LEASE' | 'WINDOW'

/** From one sign of life to the next, or to where the log knows no more. */
interface Stretch {
  readonly heardAt: number
  readonly recordedExpiry: number
  readonly expiry: number
  readonly windowEnd: number
  /** The worker's next sign of life, or a moment up to which there was none. */
  readonly nextAt: number
  readonly isLast: boolean
  /** The window ended the lease: heartbeats that could not extend it any more are not in the log. */
  readonly isBounded: boolean
  readonly durationMs: number
  readonly recordedDurationMs: number
}

/** `logEndAt`: up to where an attempt that still runs was not heard of. */
export function judge(
  attempt: TrackedAttempt,
  terms: Terms,
  outages: Outages,
  logEndAt: number,
): Judgement {
  for (const stretch of stretchesOf(attempt, terms, logEndAt)) {
    const why = whyLost(stretch, terms)
    if (stretch.isLast) return judgeLast(attempt, stretch, why, outages)
    if (why !== undefined) return expires(attempt, stretch, why, outages)
  }
  throw new Error('an attempt has a last stretch')
}

/** When it is settled whether a lease that has expired in the record would have held for a late report. */
export function settledAt(attempt: TrackedAttempt, terms: Terms): number {
  const last = lastStretchOf(attempt, terms)
  const { heartbeatShare: share } = terms
  const sooner =
    heartbeatIntervalMs(last.recordedDurationMs, share) -
    heartbeatIntervalMs(last.durationMs, share)
  const latest = last.heardAt + last.durationMs + Math.max(0, sooner)
  return Math.max(last.expiry, Math.min(last.windowEnd, latest))
}

function* stretchesOf(attempt: TrackedAttempt, terms: Terms, logEndAt: number): Generator<Stretch> {
  let { grantedAt: heardAt, leaseExpiry: recordedExpiry } = attempt
  for (const { at: nextAt, newLeaseExpiry } of attempt.heartbeats) {
    yield toStretch(attempt, terms, { heardAt, recordedExpiry, nextAt, isLast: false })
    heardAt = nextAt
    recordedExpiry = newLeaseExpiry
  }
  const nextAt = lastWordAt(attempt, logEndAt)
  yield toStretch(attempt, terms, { heardAt, recordedExpiry, nextAt, isLast: true })
}

function lastStretchOf(attempt: TrackedAttempt, terms: Terms): Stretch {
  const { at: heardAt, newLeaseExpiry: recordedExpiry } = attempt.heartbeats.at(-1) ?? {
    at: attempt.grantedAt,
    newLeaseExpiry: attempt.leaseExpiry,
  }
  const nextAt = Number.POSITIVE_INFINITY
  return toStretch(attempt, terms, { heardAt, recordedExpiry, nextAt, isLast: true })
}

type Seen = Pick<Stretch, 'heardAt' | 'recordedExpiry' | 'nextAt' | 'isLast'>

function toStretch({ grantedAt }: TrackedAttempt, terms: Terms, seen: Seen): Stretch {
  const { heardAt, recordedExpiry, nextAt, isLast } = seen
  const isBounded = recordedExpiry === grantedAt + terms.recordedWindowMs
  const shownMs = recordedExpiry - heardAt
  const recordedDurationMs = isBounded ? Math.max(shownMs, terms.usualDurationMs ?? 0) : shownMs
  const durationMs = terms.leaseDurationMs ?? recordedDurationMs
  const windowEnd = grantedAt + terms.windowMs
  const expiry = Math.min(heardAt + durationMs, windowEnd)
  // Made for every heartbeat of the log: a spread of `seen` took as long as all else together.
  return {
    heardAt,
    recordedExpiry,
    expiry,
    windowEnd,
    nextAt,
    isLast,
    isBounded,
    durationMs,
    recordedDurationMs,
  }
}

/** A lease that expired without a word afterwards is taken for one of a worker that was lost. */
function lastWordAt({ end, lateReport }: TrackedAttempt, logEndAt: number): number {
  if (end === undefined) return logEndAt
  if (end.outcome !== 'EXPIRED') return end.at
  return lateReport?.at ?? Number.POSITIVE_INFINITY
}

function whyLost(stretch: Stretch, { heartbeatShare }: Terms): Cause | undefined {
  const { heardAt, nextAt, durationMs, windowEnd } = stretch
  const isSilent = silenceMs(stretch, heartbeatShare) >= durationMs
  if (isSilent && heardAt + durationMs <= windowEnd) return 'LEASE'
  return nextAt >= windowEnd ? 'WINDOW' : undefined
}

/** The gap as it would have been. One within the interval was no silence, and would not be one. */
function silenceMs(stretch: Stretch, share: number): number {
  const gapMs = stretch.nextAt - stretch.heardAt
  const intervalMs = heartbeatIntervalMs(stretch.recordedDurationMs, share)
  if (gapMs <= intervalMs) return 0
  return gapMs - intervalMs + heartbeatIntervalMs(stretch.durationMs, share)
}

function judgeLast(
  attempt: TrackedAttempt,
  stretch: Stretch,
  why: Cause | undefined,
  outages: Outages,
): Judgement {
  const { end, lateReport } = attempt
  const isExpired = end?.outcome === 'EXPIRED'
  const { recordedExpiry, expiry, isBounded } = stretch
  const cause = isBounded ? 'WINDOW' : 'LEASE'
  if (why === undefined) {
    return isExpired && lateReport !== undefined
      ? { kind: 'accepted', at: lateReport.at, cause }
      : { kind: 'kept', isUncertain: false }
  }
  if (isExpired) {
    // Whether a worker that its window had stopped would have gone on is nowhere to be seen.
    const isUncertain = isBounded && expiry > recordedExpiry
    return expires(attempt, stretch, why, outages, isUncertain)
  }
  if (expiry >= recordedExpiry) return { kind: 'kept', isUncertain: false }
  // There may have been heartbeats that the log does not have.
  if (isBounded && why === 'LEASE') return { kind: 'kept', isUncertain: true }
  return expires(attempt, stretch, why, outages, end?.outcome === 'DEAD')
}

function expires(
  { end }: TrackedAttempt,
  { heardAt, recordedExpiry, expiry, isLast }: Stretch,
  cause: Cause,
  outages: Outages,
  isUncertain = false,
): Judgement {
  const recorded = isLast && end?.outcome === 'EXPIRED' ? end : undefined
  return { kind: 'expires', heardAt, cause, isUncertain, ...seenAt() }

  function seenAt() {
    if (recorded !== undefined && expiry === recordedExpiry) return momentOf(recorded)
    const outage = outages.around(expiry)
    if (outage === undefined) {
      const delayMs = recorded === undefined || recorded.atStart ? 0 : recorded.at - recordedExpiry
      return { at: expiry + delayMs, atStart: false }
    }
    const isSameStart = recorded?.atStart === true && outage.since < recordedExpiry
    return isSameStart && recordedExpiry <= outage.until
      ? momentOf(recorded)
      : { at: outage.until, atStart: true }
  }
}

function momentOf({ at, atStart = false }: { readonly at: number; readonly atStart?: boolean }) {
  return { at, atStart }
}
