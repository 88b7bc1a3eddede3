import type { Start } from '../evidence/coordinator-lines.js'
import type { Evidence } from '../evidence/evidence.js'
import type { LogOverview } from './log-overview.js'
import type { Tally } from './tally.js'

/** 002 §8, semantics §12: the metrics match the log, over all restarts. */
export function* findWrongCounters(
  { metrics, lastLsn }: Evidence,
  overview: LogOverview,
  tally: Tally,
): Generator<string> {
  if (lastLsn !== overview.lastLsn) {
    yield `the log ends at LSN ${overview.lastLsn}; the coordinator reported ${lastLsn}`
  }
  for (const [name, count] of Object.entries(countersOf(tally, overview.forgotten))) {
    const said = metrics[name]
    if (said !== count) yield `${name} is ${said}; it should be ${count}`
  }
}

/**
 * 002 §8: each open of the log has its epoch, and each start that became ready is counted. A
 * coordinator that was killed early may not have opened the log, or may not have reported that it
 * was ready.
 */
export function* findWrongStarts(evidence: Evidence): Generator<string> {
  const { coordinatorLives, metrics } = evidence
  const { starts } = evidence.coordinator
  const last = starts.at(-1)
  for (const [name, said] of [
    ['tenure_log_epoch', last?.epoch],
    ['tenure_coordinator_restarts', last?.restarts],
  ] as const) {
    if (metrics[name] !== said) yield `${name} is ${metrics[name]}; the last start reported ${said}`
  }
  if (last !== undefined && last.epoch > coordinatorLives)
    yield `epoch ${last.epoch} after ${coordinatorLives} launches`
  let before: Start = { epoch: 0, restarts: -1 }
  for (const start of starts) {
    const { epoch, restarts } = start
    if (epoch <= before.epoch) yield `epoch ${epoch} follows epoch ${before.epoch}`
    if (restarts <= before.restarts) yield `restart ${restarts} follows restart ${before.restarts}`
    if (restarts >= epoch) yield `restart ${restarts} in epoch ${epoch}`
    before = start
  }
}

function countersOf(tally: Tally, forgotten: number): Record<string, number> {
  return {
    tenure_tasks_created_total: tally.tasks,
    tenure_leases_granted_total: tally.grants,
    tenure_leases_extended_total: tally.extensions,
    tenure_lease_expirations_total: tally.expirations,
    tenure_tasks_completed_total: tally.completed,
    tenure_tasks_failed_total: tally.failed,
    tenure_retries_total: tally.failures - tally.failed,
    tenure_tasks_dead_total: tally.dead,
    tenure_tasks_forgotten_total: forgotten,
    tenure_duplicate_executions_possible_total: tally.possibleDuplicates,
    tenure_duplicate_executions_confirmed_total: tally.confirmedDuplicates,
    tenure_reports_refused_total: tally.refusedReports,
    tenure_waiting_tasks: 0,
    tenure_leased_tasks: 0,
    tenure_ended_tasks: tally.tasks - forgotten,
  }
}
