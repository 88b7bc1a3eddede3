import type { Forecast, WhatIfKnobs } from '@tenure/history'
import { countOf } from '../../../terminal/format.js'
import { showShare } from './settings.js'

/** The assumptions behind a forecast that concern the given options. */
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
  'Workers, handlers and clients behave as recorded: each attempt takes as long as the recorded attempt with the same number. The availability of workers is not simulated.'

function leases(share: string): string[] {
  return [
    `A heartbeat is due after ${share} of a lease, both recorded and simulated. The delay of a heartbeat after that time is kept, not the length of the silence.`,
    'A worker that sent nothing after its lease expired counts as lost: its lease expires one lease duration after the last sign of life.',
    'A silence before a late report lasts until the report, because the log does not contain rejected heartbeats. More late reports may be in time than forecast, but not fewer.',
    'A silence while no coordinator was running counts like any other. A lease that ends in that time expires at the next startup and does not count toward the poison threshold.',
  ]
}

const delays =
  'Another retry delay only shifts later events: the total waiting time is shown, but not when the tasks run.'

const successes =
  'A late report that is in time with these options ends its task: the log does not tell whether it reported success or failure.'

const threshold =
  'The log does not contain the poison threshold. Without --poison-threshold, a task is stopped where it was stopped in the log, if the same number of its leases expire in a row.'

function forEvery({ executionWindowMs, maxRetries, backoff }: WhatIfKnobs): string[] {
  const tried = [
    ...(executionWindowMs === undefined ? [] : ['its execution window']),
    ...(maxRetries === undefined ? [] : ['its retries']),
    ...(backoff === undefined ? [] : ['its backoff']),
  ]
  if (tried.length === 0) return []
  const what = new Intl.ListFormat('en-GB').format(tried)
  return [
    `Every task takes ${what} from these options: the log does not tell which tasks were submitted with their own.`,
  ]
}

function unknownEnds(count: number): string {
  return `${countOf(count, 'task')} would have run once more than recorded. The outcome of that run is unknown, so it is counted but not simulated.`
}

function uncertain({ attemptsUncertain: count }: Forecast): string[] {
  if (count === 0) return []
  return [
    `The outcome of ${countOf(count, 'attempt')} cannot be derived from the log: its execution window had ended, a heartbeat that could extend nothing left no record, or its task was stopped. The recorded outcome is used instead.`,
  ]
}

function leftOut({ tasksLeftOut: count }: Forecast): string[] {
  if (count === 0) return []
  return [
    `${countOf(count, 'task')} submitted before the first remaining record ${count === 1 ? 'is' : 'are'} left out of both columns.`,
  ]
}
