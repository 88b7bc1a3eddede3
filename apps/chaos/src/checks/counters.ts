import type { Evidence } from '../evidence.js'
import type { LogOverview } from '../log-overview.js'
import type { Tally } from '../tally.js'

/** 002 §8, semantics §12: the metrics say what the log says, over all restarts. */
export function* findWrongCounters(
  { metrics, lastLsn }: Evidence,
  overview: LogOverview,
  tally: Tally,
): Generator<string> {
  if (lastLsn !== overview.lastLsn) {
    yield `the log ends at LSN ${overview.lastLsn}; the coordinator said ${lastLsn}`
  }
  for (const [name, count] of Object.entries(countersOf(tally, overview.forgotten))) {
    const said = metrics[name]
    if (said !== count) yield `${name} is ${said}; it should be ${count}`
  }
}

/**
 * 002 §8: each time the log was opened counts, and the epoch says which time it is. A life that was
 * killed early may not have opened it, or may have had no time to say so.
 */
export function* findWrongEpochs(evidence: Evidence): Generator<string> {
  const { coordinatorLives, metrics } = evidence
  const { epochs } = evidence.coordinator
  const restarts = metrics.tenure_coordinator_restarts
  const last = epochs.at(-1)
  if (restarts !== last) yield `tenure_coordinator_restarts is ${restarts} in epoch ${last}`
  if (last !== undefined && last > coordinatorLives)
    yield `epoch ${last} of ${coordinatorLives} lives`
  for (const [index, epoch] of epochs.entries()) {
    const before = epochs[index - 1] ?? 0
    if (epoch <= before) yield `epoch ${epoch} follows epoch ${before}`
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
