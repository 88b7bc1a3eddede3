import { showDuration, showTime } from '../terminal/format.js'
import {
  type Lane,
  type LaneAttempt,
  lastSignOf,
  type Outcome,
  outcomeOf,
  type Pulse,
} from './lane.js'
import { unknownLsn } from './recording.js'
import type { Timeline } from './timeline.js'

export const outcomeWords: Readonly<Record<Outcome, string>> = {
  COMPLETED: 'completed',
  FAILED: 'failed',
  EXPIRED: 'expired',
  DEAD: 'stopped',
  OPEN: 'open',
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`
}

/** The number of heartbeats whose records remain. */
export function describeBeats({ count, isWhole }: Pulse): string {
  return isWhole ? String(count) : `${count} or more, since records were removed`
}

/** The facts of an attempt, line by line. */
export function describeAttempt(attempt: LaneAttempt): string[] {
  const { taskId, leaseId, workerId, grantedAt, end, lateReport, pulse, leaseExpiry } = attempt
  const until =
    end === undefined ? `lease granted until ${showTime(leaseExpiry)}` : describeEnd(attempt)
  return [
    `task ${taskId}, attempt ${attempt.attempt}, lease ${leaseId}`,
    `worker ${workerId}`,
    `granted ${showTime(grantedAt)}`,
    pulse.isWhole ? count(pulse.count, 'heartbeat') : `heartbeats: ${describeBeats(pulse)}`,
    until,
    ...(end?.reason ? [end.reason] : []),
    ...(lateReport
      ? [`late report CANCELLED ${showTime(lateReport.at)} (LSN ${lateReport.lsn})`]
      : []),
  ]
}

function describeEnd(attempt: LaneAttempt): string {
  const { grantedAt, end } = attempt
  if (end === undefined) return ''
  const lsn = end.lsn === unknownLsn ? '' : ` (LSN ${end.lsn})`
  const word = outcomeWords[outcomeOf(attempt)]
  const what = `${word} ${showTime(end.at)} after ${showDuration(end.at - grantedAt)}${lsn}`
  if (end.outcome !== 'EXPIRED') return what
  const lastSign = lastSignOf(attempt)
  const silence =
    lastSign === undefined ? '' : `, ${showDuration(end.at - lastSign)} after the last sign of life`
  return `${what}${silence}${end.atStart ? '; found at startup' : ''}`
}

/** The text at the end of a lane. */
export function describeLane({ outcome, attempts, rest }: Lane): string {
  const all = attempts.length + (rest?.running.count ?? 0)
  const expired =
    attempts.filter(({ end }) => end?.outcome === 'EXPIRED').length +
    (rest?.outcomes.get('EXPIRED') ?? 0)
  if (outcome === '') return `${count(all, 'attempt')}${expired > 0 ? `, ${expired} expired` : ''}`
  return all < 2 ? outcome : `${outcome}, ${count(all, 'attempt')}`
}

export function describeTitle({ name }: Timeline): string {
  return `Tenure: which worker owned which task — ${name}`
}

/** Describes the picture in a few sentences. */
export function describeContent(timeline: Timeline): string[] {
  const { span, firstLsn, lastLsn, overview, lanesBy, removedBefore } = timeline
  const ends = `${showTime(span.from)} to ${showTime(span.to)}`
  const late = overview.lateReports.count
  const expired = overview.endings.EXPIRED.count
  const facts = [
    count(overview.attempts, 'attempt'),
    ...(expired > 0 ? [`${expired.toLocaleString('en')} expired`] : []),
    ...(late > 0 ? [count(late, 'late report')] : []),
  ]
  return [
    `${ends}, LSN ${firstLsn} to ${lastLsn}. One lane per ${lanesBy === 'tasks' ? 'task' : 'worker'}. ${facts.join(', ')}.`,
    ...describeChoice(timeline),
    ...(removedBefore === undefined
      ? []
      : [
          `Records before LSN ${removedBefore} were removed; the picture shows what is still known of them.`,
        ]),
  ]
}

function describeChoice({ lanes, lanesTotal, lanesBy, rule, onlyRepeated }: Timeline): string[] {
  const what = onlyRepeated && lanesBy === 'tasks' ? 'tasks with more than one attempt' : lanesBy
  if (lanes.length < lanesTotal) {
    const total = lanesTotal.toLocaleString('en')
    return [`${lanes.length} of ${total} ${what} are shown: ${rule}. The strips count all ${what}.`]
  }
  if (!onlyRepeated) return []
  return ['Tasks with fewer than two attempts are left out.']
}
