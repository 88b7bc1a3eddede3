import { outcomes } from '../store/attempt-rows.js'
import { outcomeOf, payloadOf, requestIdOf } from './contents.js'
import type { State } from './state.js'

/**
 * The encoding of a task:
 *
 *     [task_id, state, queue, created_at, state_since, due, execution_window,
 *      max_retries, backoff, backoff_max, not_before, request_id, input,
 *      attempt, failures, expiries_in_a_row, outcome, [attempts, oldest first]]
 *
 * The encoding of an attempt:
 *
 *     [lease_id, worker_id, granted_at, lease_expiry, outcome, ended_at, report_id, cancelled]
 *
 * States and outcomes are indexes into `taskStates` and `attemptOutcomes`. `due` is when a WAITING task
 * is eligible, when a LEASED one's lease expires, or the LSN that ended the task. `input` is the
 * payload, or for a COMPLETED task with a request_id the payload's SHA-256. `outcome` is the result of
 * a COMPLETED task, otherwise the reason of its last failure or its death.
 */
export const taskLength = 18
export const attemptLength = 8

export function taskValues(state: State, row: number): readonly unknown[] {
  const { tasks, queues } = state.authoritative
  return [
    tasks.taskId.get(row),
    tasks.state.get(row),
    queues.text(tasks.queue.get(row)),
    tasks.createdAt.get(row),
    tasks.stateSince.get(row),
    tasks.due.get(row),
    tasks.executionWindowMs.get(row),
    tasks.maxRetries.get(row),
    tasks.backoffMs.get(row),
    tasks.exponential.get(row) === 0 ? null : tasks.backoffMsMax.get(row),
    tasks.hasNotBefore.get(row) === 0 ? null : tasks.notBefore.get(row),
    tasks.requestIdBytes.get(row) === 0 ? null : requestIdOf(state, row),
    payloadOf(state, row),
    tasks.attempt.get(row),
    tasks.failures.get(row),
    tasks.expiriesInARow.get(row),
    outcomeOf(state, row) ?? null,
    attemptValues(state, row),
  ]
}

function attemptValues({ authoritative }: State, row: number): readonly unknown[] {
  const { tasks, attempts, workers, blobs } = authoritative
  const values: unknown[] = []
  for (let at = tasks.newestAttempt.get(row); at !== 0; at = attempts.older.get(at)) {
    const outcome = attempts.outcome.get(at)
    values.push([
      attempts.leaseId.get(at),
      workers.text(attempts.worker.get(at)),
      attempts.grantedAt.get(at),
      attempts.leaseExpiry.get(at),
      outcome,
      outcome === outcomes.OPEN ? null : attempts.endedAt.get(at),
      attempts.reportId.get(at) === 0 ? null : blobs.text(attempts.reportId.get(at)),
      attempts.cancelled.get(at) !== 0,
    ])
  }
  return values.reverse()
}
