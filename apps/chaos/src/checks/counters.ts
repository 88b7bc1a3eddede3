import type { Case } from '../case.js'
import type { History } from '../history.js'

/** 002 §8, semantics §12: the metrics say what the log says, over all restarts. */
export function* findWrongCounters({ evidence, history }: Case): Generator<string> {
  for (const [name, count] of Object.entries(countersOf(history))) {
    const said = evidence.metrics[name]
    if (said !== count) yield `${name} is ${said}; it should be ${count}`
  }
}

/**
 * 002 §8: each time the log was opened counts, and the epoch says which time it is. A life that was
 * killed early may not have opened it, or may have had no time to say so.
 */
export function* findWrongEpochs({ evidence }: Case): Generator<string> {
  const { epochs, coordinatorLives, metrics } = evidence
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

function countersOf(history: History): Record<string, number> {
  const { counts } = history
  const tasks = [...history.tasks.values()]
  const failed = tasks.filter(({ ends }) => ends.includes('FAILED')).length
  return {
    tenure_tasks_created_total: counts.TaskCreated,
    tenure_leases_granted_total: counts.LeaseGranted,
    tenure_leases_extended_total: counts.LeaseExtended,
    tenure_lease_expirations_total: counts.LeaseExpired,
    tenure_tasks_completed_total: counts.TaskCompleted,
    tenure_tasks_failed_total: failed,
    tenure_retries_total: counts.TaskFailed - failed,
    tenure_tasks_dead_total: counts.TaskDead,
    tenure_duplicate_executions_possible_total: possibleDuplicates(history),
    tenure_duplicate_executions_confirmed_total: counts.TaskCancelled,
    tenure_waiting_tasks: 0,
    tenure_leased_tasks: 0,
    tenure_ended_tasks: counts.TaskCreated,
  }
}

/** Attempts that were granted while the one before had ended by expiry. */
export function possibleDuplicates({ tasks }: History): number {
  let count = 0
  for (const { grants } of tasks.values()) {
    count += grants.filter((_, index) => grants[index - 1]?.end?.how === 'EXPIRED').length
  }
  return count
}
