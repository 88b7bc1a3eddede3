import type { Forecast, WhatIfKnobs } from '@tenure/history'
import { countOf } from '../../../terminal/figures.js'
import { showShare } from './settings.js'

/** What has to be believed for the forecast to hold: only what bears on the knobs that were tried. */
export function assumptionsOf(forecast: Forecast): string[] {
  const { knobs, lateReportsAccepted, underKnobs, recorded } = forecast
  const changesLeases = knobs.leaseDurationMs !== undefined || knobs.executionWindowMs !== undefined
  return [
    always,
    ...(changesLeases ? leases(showShare(knobs.heartbeatShare)) : []),
    ...forEvery(knobs),
    ...(knobs.backoff !== undefined ? [delays] : []),
    ...(lateReportsAccepted > 0 ? [successes] : []),
    ...(knobs.poisonThreshold === undefined &&
    (recorded.tasksPoisoned > 0 || underKnobs.leasesExpired > recorded.leasesExpired)
      ? [threshold]
      : []),
    ...(underKnobs.tasksUnknown > 0 ? [unknownEnds(underKnobs.tasksUnknown)] : []),
    ...uncertain(forecast),
    ...leftOut(forecast),
  ]
}

const always =
  'Workers, handlers and clients do what they did: each attempt of the record stands for the one with the same number, and takes as long. Whether there would have been a worker sooner, or enough of them, is not asked.'

function leases(share: string): string[] {
  return [
    `A heartbeat is due after ${share} of a lease, then and now. What is carried over is by how much a worker was later than that, not how long it was silent.`,
    'A worker that was not heard of after its lease had expired is taken for lost: its lease expires one lease after the last sign of life, whatever its length.',
    'A silence before a late report lasts until the report: heartbeats that were refused in between are not in the log. More late reports may have been in time, and not fewer.',
    'While no coordinator ran nobody could be heard. Such a silence counts like every other; a lease that runs out then is found expired at the next start, and does not count as poison.',
  ]
}

const delays =
  'Another delay before a retry moves what comes after it, and changes nothing else: what tasks wait in all is told, and nothing of when they run.'

const successes =
  'A late report that is in time under these knobs ends its task: the log does not say whether it was one of success or of failure.'

const threshold =
  'The log does not have the poison threshold. Without --poison-threshold a task is stopped where the record stops it, if as many of its leases in a row expire.'

function forEvery({ executionWindowMs, maxRetries, backoff }: WhatIfKnobs): string[] {
  const tried = [
    ...(executionWindowMs === undefined ? [] : ['its execution window']),
    ...(maxRetries === undefined ? [] : ['its retries']),
    ...(backoff === undefined ? [] : ['its backoff']),
  ]
  if (tried.length === 0) return []
  const what = new Intl.ListFormat('en-GB').format(tried)
  return [
    `Every task has ${what} from these knobs: the log does not say which were submitted with their own.`,
  ]
}

function unknownEnds(count: number): string {
  return `${countOf(count, 'task')} would have run once more than in the record. What came of it is not known: that run is counted, and not followed.`
}

function uncertain({ attemptsUncertain: count }: Forecast): string[] {
  if (count === 0) return []
  return [
    `What ${countOf(count, 'attempt')} would have come to is not in the log: a window had ended it, a heartbeat that could extend nothing left no record, or its task was stopped. There the record stands, as far as it goes.`,
  ]
}

function leftOut({ tasksLeftOut: count }: Forecast): string[] {
  if (count === 0) return []
  return [
    `${countOf(count, 'task')} submitted before the first record that is left ${count === 1 ? 'is' : 'are'} left out, on both sides.`,
  ]
}
