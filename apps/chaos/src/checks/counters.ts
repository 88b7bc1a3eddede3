import type { Case } from '../case.js'
import type { History } from '../history.js'

/** 002 §8, semantics §12: the metrics say what the log says, over all restarts. */
export function* findWrongCounters({ evidence, history }: Case): Generator<string> {
  const expected = {
    ...countersOf(history),
    tenure_coordinator_restarts: evidence.coordinatorStarts,
  }
  for (const [name, count] of Object.entries(expected)) {
    const said = evidence.metrics[name]
    if (said !== count) yield `${name} is ${said}; it should be ${count}`
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
