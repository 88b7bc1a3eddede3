import type { TrackedAttempt } from '../task/attempts.js'
import { heartbeatIntervalMs } from './knobs.js'
import type { Outages } from './outages.js'

/**
 * Judges one attempt under another lease duration and another window.
 *
 * A lease must last from one sign of life to the next: the grant, each heartbeat, the report. The log
 * has the *gap* between two of them. With another lease duration the worker would have sent its
 * heartbeats at another interval. So the lateness beyond the interval is carried over, not the gap:
 *
 *     recorded      sign ──── interval ────┆─── lateness ───▶ next sign
 *     under knobs   sign ─ interval' ─┆─── lateness ───▶ next sign
 *                   sign ──────────── duration' ──────────▶ expiry
 *
 * The lease is lost if interval' + lateness reaches duration'. With the recorded duration the sum is
 * exactly the recorded gap.
 */
export interface Terms {
  /** The execution window with which the task was submitted. */
  readonly recordedWindowMs: number
  readonly windowMs: number
  /** `undefined` means as recorded. */
  readonly leaseDurationMs: number | undefined
  readonly heartbeatShare: number
  /** The usual lease duration, for attempts whose shorter window hides it. */
  readonly usualDurationMs: number | undefined
}

export type Judgement =
  | { readonly kind: 'kept'; readonly isUncertain: boolean }
  | { readonly kind: 'accepted'; readonly at: number; readonly cause: Cause }
  | {
      readonly kind: 'expires'
      readonly at: number
      readonly atStart: boolean
      /** The last sign of life before the expiry. */
      readonly heardAt: number
      readonly cause: Cause
      readonly isUncertain: boolean
    }

/** Why the lease was lost or kept. */
type Cause = 'LEASE' | 'WINDOW'

/** From one sign of life to the next, or to the end of the log's knowledge. */
interface ContactGap {
  readonly heardAt: number
  readonly recordedExpiry: number
  readonly expiry: number
  readonly windowEnd: number
  /** The worker's next sign of life, or a moment up to which there was none. */
  readonly nextAt: number
  readonly isLast: boolean
  /** The window ended the lease. Heartbeats that could not extend it are not in the log. */
  readonly isBounded: boolean
  readonly durationMs: number
  readonly recordedDurationMs: number
}

/** `logEndAt` is the time up to which a running attempt is known to have been silent. */
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
  throw new Error('an attempt has no last stretch')
}

/** When it is certain whether a lease that expired in the record would have lasted until a late report. */
export function finalAt(attempt: TrackedAttempt, terms: Terms): number {
  const last = lastStretchOf(attempt, terms)
  const { heartbeatShare: share } = terms
  const sooner =
    heartbeatIntervalMs(last.recordedDurationMs, share) -
    heartbeatIntervalMs(last.durationMs, share)
  const latest = last.heardAt + last.durationMs + Math.max(0, sooner)
  return Math.max(last.expiry, Math.min(last.windowEnd, latest))
}

function* stretchesOf(
  attempt: TrackedAttempt,
  terms: Terms,
  logEndAt: number,
): Generator<ContactGap> {
  let { grantedAt: heardAt, leaseExpiry: recordedExpiry } = attempt
  for (const { at: nextAt, newLeaseExpiry } of attempt.heartbeats) {
    yield toStretch(attempt, terms, { heardAt, recordedExpiry, nextAt, isLast: false })
    heardAt = nextAt
    recordedExpiry = newLeaseExpiry
  }
  const nextAt = lastWordAt(attempt, logEndAt)
  yield toStretch(attempt, terms, { heardAt, recordedExpiry, nextAt, isLast: true })
}

function lastStretchOf(attempt: TrackedAttempt, terms: Terms): ContactGap {
  const { at: heardAt, newLeaseExpiry: recordedExpiry } = attempt.heartbeats.at(-1) ?? {
    at: attempt.grantedAt,
    newLeaseExpiry: attempt.leaseExpiry,
  }
  const nextAt = Number.POSITIVE_INFINITY
  return toStretch(attempt, terms, { heardAt, recordedExpiry, nextAt, isLast: true })
}

type Seen = Pick<ContactGap, 'heardAt' | 'recordedExpiry' | 'nextAt' | 'isLast'>

function toStretch({ grantedAt }: TrackedAttempt, terms: Terms, seen: Seen): ContactGap {
  const { heardAt, recordedExpiry, nextAt, isLast } = seen
  const isBounded = recordedExpiry === grantedAt + terms.recordedWindowMs
  const shownMs = recordedExpiry - heardAt
  const recordedDurationMs = isBounded ? Math.max(shownMs, terms.usualDurationMs ?? 0) : shownMs
  const durationMs = terms.leaseDurationMs ?? recordedDurationMs
  const windowEnd = grantedAt + terms.windowMs
  const expiry = Math.min(heardAt + durationMs, windowEnd)
  // Written out, because this runs for every heartbeat, and spreading `seen` took as long as
  // everything else.
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

/**
 * The last contact with the worker. If a lease expired and no report followed, assume that the
 * worker was lost.
 */
function lastWordAt({ end, lateReport }: TrackedAttempt, logEndAt: number): number {
  if (end === undefined) return logEndAt
  if (end.outcome !== 'EXPIRED') return end.at
  return lateReport?.at ?? Number.POSITIVE_INFINITY
}

function whyLost(stretch: ContactGap, { heartbeatShare }: Terms): Cause | undefined {
  const { heardAt, nextAt, durationMs, windowEnd } = stretch
  const isSilent = silenceMs(stretch, heartbeatShare) >= durationMs
  if (isSilent && heardAt + durationMs <= windowEnd) return 'LEASE'
  return nextAt >= windowEnd ? 'WINDOW' : undefined
}

/** The gap under the knobs. A recorded gap within the heartbeat interval is not a silence. */
function silenceMs(stretch: ContactGap, share: number): number {
  const gapMs = stretch.nextAt - stretch.heardAt
  const intervalMs = heartbeatIntervalMs(stretch.recordedDurationMs, share)
  if (gapMs <= intervalMs) return 0
  return gapMs - intervalMs + heartbeatIntervalMs(stretch.durationMs, share)
}

function judgeLast(
  attempt: TrackedAttempt,
  stretch: ContactGap,
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
    // The log does not show whether a worker that was stopped by its window would have continued.
    const isUncertain = isBounded && expiry > recordedExpiry
    return expires(attempt, stretch, why, outages, isUncertain)
  }
  if (expiry >= recordedExpiry) return { kind: 'kept', isUncertain: false }
  // There may have been heartbeats that are not in the log.
  if (isBounded && why === 'LEASE') return { kind: 'kept', isUncertain: true }
  return expires(attempt, stretch, why, outages, end?.outcome === 'DEAD')
}

function expires(
  { end }: TrackedAttempt,
  { heardAt, recordedExpiry, expiry, isLast }: ContactGap,
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
