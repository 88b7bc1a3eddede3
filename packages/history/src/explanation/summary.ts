import type { LsnRange } from '../follow/log-source.js'
import { findDuplicates, summarizeDuplicates } from './duplicates.js'
import type { Cause, CauseKind } from './explanation.js'
import type { KnownTask } from './known-task.js'
import { capital, counted, leaseOf, moment, ordinal, quoted, span, times } from './words.js'

/** Answers why the task ran as often as it did. */
export function summarize(task: KnownTask, causes: readonly Cause[]): string {
  const answer = [
    answerOf(task, causes),
    standing(task, causes),
    summarizeDuplicates(findDuplicates(task)),
    incomplete(task),
    ...task.gaps.map(given),
  ]
  return `${asOf(task)}${answer.filter(Boolean).join(' ')}`
}

function asOf({ asOf }: KnownTask): string {
  if (asOf === undefined) return ''
  return 'lsn' in asOf ? `As of LSN ${asOf.lsn}: ` : `As of ${moment(asOf.at)}: `
}

function answerOf(task: KnownTask, causes: readonly Cause[]): string {
  const { taskId, runs, state, attempts, removed } = task
  if (runs === 0) return neverRan(task)
  const least = removed !== undefined && removed.attempts === undefined ? 'at least ' : ''
  // The attempt that a task waits for has not been made yet.
  const made = causes.slice(0, state === 'WAITING' ? -1 : undefined)
  if (state === 'LEASED' && attempts.at(-1)?.end === undefined) {
    const why = made.length === 0 ? '' : tellWhy(made)
    return `Task ${taskId} is leased for the ${ordinal(runs)} time${why}.`
  }
  const ran = `Task ${taskId} ran ${least}${times(runs)}`
  if (made.length > 0) return `${ran}${tellWhy(made)}.`
  return runs === 1 && least === '' ? `${ran}${once(task)}.` : `${ran}.`
}

function tellWhy(causes: readonly Cause[]): string {
  const [only, ...others] = causes
  if (others.length > 0) return `: ${countCauses(causes)}`
  return only!.kind === 'NOT_KNOWN' ? `; ${only!.because}` : ` because ${only!.because}`
}

/** Only one execution, whatever happened to the answer to the report. */
function once({ attempts, state }: KnownTask): string {
  const [only] = attempts
  if (only?.end === undefined || state !== 'COMPLETED') return ''
  const { workerId, end, grantedAt } = only
  const took = grantedAt === undefined ? '' : ` ${span(end.at - grantedAt)} after it was leased`
  return `: worker ${workerId ?? 'unknown'} completed it${took}, and it was not leased again`
}

const kinds: Readonly<Record<CauseKind, readonly [one: string, many: string]>> = {
  REPORTED_LATE: [
    'lease expired before its report arrived',
    'leases expired before their reports arrived',
  ],
  NO_REPORT: ['lease expired and no report came', 'leases expired and no report came'],
  COORDINATOR_DOWN: [
    'lease had expired when the coordinator started again',
    'leases had expired when the coordinator started again',
  ],
  WINDOW_OVER: ['execution window ended', 'execution windows ended'],
  FAILED: ['failure was reported with a retry left', 'failures were reported with retries left'],
  NOT_KNOWN: ['attempt ended in an unknown way', 'attempts ended in an unknown way'],
}

function countCauses(causes: readonly Cause[]): string {
  const counts = Object.entries(kinds).flatMap(([kind, [one, many]]) => {
    const count = causes.filter((cause) => cause.kind === kind).length
    return count === 0 ? [] : [counted(count, one, many)]
  })
  return counts.join('; ')
}

function neverRan(task: KnownTask): string {
  const { taskId, state, created, death, now } = task
  if (state === 'DEAD') return `Task ${taskId} has not run: ${stoppedFor(death!.reason)}.`
  const { at, notBefore, queue } = created!
  const { asOf } = task
  const then = now ?? (asOf !== undefined && 'at' in asOf ? asOf.at : at)
  if (notBefore !== undefined && notBefore > then) {
    const ahead = now === undefined ? '' : `, in ${span(notBefore - now)}`
    return `Task ${taskId} has not run: it must not run before ${moment(notBefore)}${ahead}.`
  }
  const since = Math.max(at, notBefore ?? at)
  const waits = now === undefined ? '' : ` for ${span(now - since)}`
  return `Task ${taskId} has not run: it has been waiting${waits} since ${moment(since)}, and no worker of queue ${queue} has leased it.`
}

function stoppedFor(reason: string): string {
  return reason === '' ? 'it was stopped for good' : `it was stopped for good (${quoted(reason)})`
}

/** The state of the task, unless the answer contains it. */
function standing(task: KnownTask, causes: readonly Cause[]): string {
  const { state, runs, attempts, death } = task
  const last = attempts.at(-1)
  switch (state) {
    case 'COMPLETED':
      return runs === 1
        ? ''
        : `Worker ${last!.workerId ?? 'unknown'} completed it under lease ${last!.leaseId}.`
    case 'LEASED': {
      const { leaseExpiry } = last!
      if (leaseExpiry === undefined) return `It is owned under ${leaseOf(last!)}.`
      const until = ` until ${moment(leaseExpiry)}`
      const verb = task.now !== undefined && task.now > leaseExpiry ? 'was' : 'is'
      return `${capital(leaseOf(last!))} ${verb} good${until}.`
    }
    case 'WAITING':
      return runs === 0 ? '' : waiting(task, causes.at(-1)!)
    case 'FAILED': {
      const { failures, reason = '' } = last!.end!
      const why = reason === '' ? '' : ` (${quoted(reason)})`
      return `It failed for good: no retry was left after ${counted(failures!, 'failure', 'failures')}${why}.`
    }
    case 'DEAD':
      return runs === 0 ? '' : `${capital(stoppedFor(death!.reason))}.`
    default:
      return 'Its current state is unknown.'
  }
}

function waiting({ attempts, now }: KnownTask, { because }: Cause): string {
  const { end } = attempts.at(-1)!
  const eligibleAt = end!.eligibleAt ?? end!.at
  const when =
    eligibleAt > (now ?? end!.at)
      ? `will be eligible again at ${moment(eligibleAt)}`
      : `has been waiting to run again since ${moment(eligibleAt)}`
  return `It ${when} because ${because}.`
}

/** The parts that come from memory or are missing. */
function incomplete({ removed, taskId }: KnownTask): string {
  if (removed === undefined) return ''
  const { firstLsn, attempts } = removed
  const more =
    attempts === undefined || attempts === 0
      ? ''
      : ` Nothing is remembered of ${counted(attempts, 'earlier attempt', 'earlier attempts')}.`
  if (firstLsn === undefined) {
    return `This comes from the coordinator's memory, which contains no heartbeats or restarts.${more}`
  }
  return `The log begins at LSN ${firstLsn}, after task ${taskId} was submitted: earlier events are shown only as far as they are remembered.${more}`
}

/** Records that were given up. */
function given({ firstLsn, lastLsn }: LsnRange): string {
  return `The log has no LSN ${firstLsn} to ${lastLsn}: events of the task in that range, if any, are lost.`
}
