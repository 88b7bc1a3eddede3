import { omitUndefined } from '../omit-undefined.js'
import { awayMsMax, coordinatorStart } from './coordinator-starts.js'
import type { Cause } from './explanation.js'
import type { KnownAttempt } from './known-attempts.js'
import type { KnownTask } from './known-task.js'
import { leaseOf, quoted, span } from './words.js'

/** One cause for each attempt after the first, and one for the attempt that a task is waiting for. */
export function findCauses(task: KnownTask): Cause[] {
  const { attempts, state } = task
  // A forgotten task may have leases without a number, with unknown attempts between them.
  const first = attempts.findIndex(({ attempt }) => attempt !== undefined)
  const causes: Cause[] = []
  for (let attempt = 2; attempt <= (attempts[first]?.attempt ?? 0); attempt++) {
    causes.push({ attempt, kind: 'NOT_KNOWN', because: unknown })
  }
  const isAgain = state === 'WAITING'
  // If none has a number (-1), only the last one can be explained.
  for (const own of attempts.slice(first, isAgain ? undefined : -1)) {
    const attempt = own.attempt === undefined ? {} : { attempt: own.attempt + 1 }
    causes.push({ ...attempt, ...findCause(task, own) })
  }
  return causes
}

const unknown = 'the end of the previous attempt is unknown'

function findCause(task: KnownTask, own: KnownAttempt): Omit<Cause, 'attempt'> {
  const { leaseId, workerId, end } = own
  const who = omitUndefined<Pick<Cause, 'leaseId' | 'workerId'>>({ leaseId, workerId })
  switch (end?.outcome) {
    case 'EXPIRED':
      return { ...who, ...expiry(task, own) }
    case 'FAILED':
      return { ...who, ...failure(task, own) }
    default:
      return { ...who, kind: 'NOT_KNOWN', because: unknown }
  }
}

type Found = Omit<Cause, 'attempt' | 'leaseId' | 'workerId'>

function failure({ created }: KnownTask, own: KnownAttempt): Found {
  const { reason, failures } = own.end!
  const retriesMax = created?.retryPolicy.maxRetries
  const why = reason === undefined || reason === '' ? '' : ` (${quoted(reason)})`
  const who = own.workerId === undefined ? 'its worker' : `worker ${own.workerId}`
  const isCounted = failures !== undefined && retriesMax !== undefined
  const retry = isCounted ? `: this is retry ${failures} of ${retriesMax}` : ''
  return omitUndefined<Found>({
    kind: 'FAILED',
    because: `${who} reported a failure under lease ${own.leaseId}${why}${retry}`,
    reason,
    failures,
    retriesMax,
  })
}

function expiry(task: KnownTask, own: KnownAttempt): Found {
  const facts = factsOf(own)
  if (own.end!.atStart === true) return down(task, own, facts)
  const windowMs = windowOver(task, own)
  if (windowMs !== undefined) {
    const late = reportBehind('its report came', 'later', facts)
    const because = `the execution window of ${span(windowMs)} ended under ${leaseOf(own)}, and ${late}`
    return {
      kind: 'WINDOW_OVER',
      because: because + unsure(task, own),
      ...facts,
      executionWindowMs: windowMs,
    }
  }
  const silence = tellSilence(own, facts) + tellAway(task, facts)
  if (!facts.reported) {
    const because = `${leaseOf(own)} expired and no report came${silence}${unsure(task, own)}`
    return { kind: 'NO_REPORT', because, ...facts }
  }
  const ago = facts.lateMs === undefined ? '' : `${span(facts.lateMs)} `
  const because = `${leaseOf(own)} expired ${ago}before its report arrived${silence}${unsure(task, own)}`
  return { kind: 'REPORTED_LATE', because, ...facts }
}

type Facts = Pick<Cause, 'expiredAt' | 'reported' | 'silenceMs' | 'lateMs'>

/** If the expiry is unknown: the record of the expiry came at some time after it. */
function factsOf(own: KnownAttempt): Facts {
  const { leaseExpiry: expiredAt, heartbeats, grantedAt, lateReport, isRemembered } = own
  const reported = lateReport !== undefined
  if (expiredAt === undefined) return { reported }
  const lastSeen = heartbeats.at(-1)?.at ?? (isRemembered ? undefined : grantedAt)
  return omitUndefined<Facts>({
    expiredAt,
    reported,
    lateMs: lateReport?.at === undefined ? undefined : lateReport.at - expiredAt,
    silenceMs: lastSeen === undefined ? undefined : expiredAt - lastSeen,
  })
}

/** The execution window, if it ended the lease: a heartbeat could not have extended it further. */
export function windowOver({ created }: KnownTask, own: KnownAttempt): number | undefined {
  const { grantedAt, leaseExpiry } = own
  if (created === undefined || grantedAt === undefined) return undefined
  const { executionWindowMs } = created
  return leaseExpiry === grantedAt + executionWindowMs ? executionWindowMs : undefined
}

function down(task: KnownTask, own: KnownAttempt, facts: Facts): Found {
  const start = coordinatorStart(task, own.end!.lsn!)
  const startedAt = start?.at ?? own.end!.at
  const which = start === undefined ? '' : ` (epoch ${start.epoch})`
  const windowMs = windowOver(task, own)
  const ago = facts.expiredAt === undefined ? '' : `${span(startedAt - facts.expiredAt)} `
  const because = [
    `${leaseOf(own)} had expired ${ago}before the coordinator started again${which}`,
    start?.downMsMax === undefined ? '' : `, after up to ${span(start.downMsMax)} of downtime`,
    windowMs === undefined ? '' : `; the execution window of ${span(windowMs)} had ended, too`,
    `; ${reportBehind('a report came', 'after the expiry', facts)}`,
  ]
  return omitUndefined<Found>({
    kind: 'COORDINATOR_DOWN',
    because: because.join(''),
    ...facts,
    epoch: start?.epoch,
    startedAt,
    downMsMax: start?.downMsMax,
    executionWindowMs: windowMs,
  })
}

function reportBehind(came: string, since: string, { reported, lateMs }: Facts): string {
  if (!reported) return 'no report came'
  return lateMs === undefined ? `${came} too late` : `${came} ${span(lateMs)} ${since}`
}

/** Nothing is said if heartbeats may be missing. */
function tellSilence({ heartbeats }: KnownAttempt, { silenceMs }: Facts): string {
  if (silenceMs === undefined) return ''
  return heartbeats.length > 0
    ? `; its last heartbeat came ${span(silenceMs)} before the expiry`
    : `; no heartbeat extended it in the ${span(silenceMs)} since its grant`
}

/** A silence is not the worker's fault while no coordinator was running. */
function tellAway(task: KnownTask, { expiredAt, silenceMs }: Facts): string {
  if (expiredAt === undefined || silenceMs === undefined) return ''
  const awayMs = awayMsMax(task, expiredAt - silenceMs, expiredAt)
  return awayMs > 0 ? `, and for up to ${span(awayMs)} of that no coordinator was running` : ''
}

/** A memory knows that a lease expired, but not whether a coordinator was running to receive heartbeats. */
function unsure({ created }: KnownTask, { end, grantedAt, leaseExpiry }: KnownAttempt): string {
  if (end!.atStart === undefined) return '; it is unknown whether a coordinator was running then'
  const isMeasured = created !== undefined && grantedAt !== undefined && leaseExpiry !== undefined
  return isMeasured ? '' : '; it is unknown whether its execution window had ended'
}
