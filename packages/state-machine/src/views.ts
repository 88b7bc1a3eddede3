import { outcomeOf, payloadOf, requestIdOf } from './contents.js'
import { findOwned, findTask } from './preconditions.js'
import { retryPolicyOf } from './retry-policy.js'
import type { State } from './state.js'
import { outcomes } from './store/attempt-rows.js'
import { states } from './store/task-rows.js'
import {
  type Attempt,
  attemptOutcomes,
  type Counters,
  type Lease,
  type Task,
  taskStates,
} from './task.js'

/** The task with its attempts, as a copy; `undefined` when there is none, or it was forgotten. */
export function getTask(state: State, taskId: number): Task | undefined {
  const row = findTask(state, taskId)
  return row === 0 ? undefined : viewTask(state, row)
}

/** Every task from `fromTaskId` on, in order of their ids. */
export function* listTasks(state: State, fromTaskId = 1): Generator<Task> {
  const { byLsn } = state.derived
  for (const [lsn, row] of byLsn.entries(fromTaskId)) {
    if (state.authoritative.tasks.taskId.get(row) === lsn) yield viewTask(state, row)
  }
}

/** The lease, when it is the one that owns a task now; whether it is still valid is for a clock to say. */
export function getLease(state: State, leaseId: number): Lease | undefined {
  const row = findOwned(state, leaseId)
  return row === 0 ? undefined : viewLease(state, row)
}

/** The id of the task that was submitted under this `request_id` and is not forgotten. */
export function findByRequestId(state: State, requestId: string): number | undefined {
  const row = state.derived.byRequestId.find(requestId)
  return row === 0 ? undefined : state.authoritative.tasks.taskId.get(row)
}

/** The LSN and the time of the record that was applied last, 0 before the first. */
export function position({ authoritative }: State): {
  readonly lastLsn: number
  readonly lastAt: number
} {
  const { lastLsn, lastAt } = authoritative
  return { lastLsn, lastAt }
}

export function getCounters({ authoritative }: State): Counters {
  return { ...authoritative.counters }
}

function viewTask(state: State, row: number): Task {
  const { tasks, queues } = state.authoritative
  const stateNumber = tasks.state.get(row)
  const due = tasks.due.get(row)
  const outcome = outcomeOf(state, row)
  const completed = stateNumber === states.COMPLETED
  return {
    taskId: tasks.taskId.get(row),
    queue: queues.text(tasks.queue.get(row)),
    state: taskStates[stateNumber]!,
    attempt: tasks.attempt.get(row),
    currentLeaseId: tasks.currentLeaseId.get(row) || null,
    ...(!completed && { payload: Uint8Array.from(payloadOf(state, row)) }),
    executionWindowMs: tasks.executionWindowMs.get(row),
    retryPolicy: retryPolicyOf(tasks, row),
    ...(tasks.requestIdBytes.get(row) > 0 && { requestId: requestIdOf(state, row) }),
    createdAt: tasks.createdAt.get(row),
    ...(tasks.hasNotBefore.get(row) !== 0 && { notBefore: tasks.notBefore.get(row) }),
    stateSince: tasks.stateSince.get(row),
    ...(stateNumber === states.WAITING && { eligibleAt: due }),
    failures: tasks.failures.get(row),
    expiriesInARow: tasks.expiriesInARow.get(row),
    ...(stateNumber > states.LEASED && { endedLsn: due }),
    ...(outcome !== undefined && completed && { result: Uint8Array.from(outcome) }),
    ...(outcome !== undefined && !completed && { reason: outcome.toString() }),
    attempts: viewAttempts(state, row),
  }
}

function viewAttempts({ authoritative }: State, row: number): Attempt[] {
  const { tasks, attempts, workers, blobs } = authoritative
  const views: Attempt[] = []
  let number = tasks.attempt.get(row)
  for (let at = tasks.newestAttempt.get(row); at !== 0; at = attempts.older.get(at)) {
    const outcome = attempts.outcome.get(at)
    const reportId = blobs.text(attempts.reportId.get(at))
    views.unshift({
      attempt: number--,
      leaseId: attempts.leaseId.get(at),
      workerId: workers.text(attempts.worker.get(at)),
      grantedAt: attempts.grantedAt.get(at),
      leaseExpiry: attempts.leaseExpiry.get(at),
      outcome: attemptOutcomes[outcome]!,
      ...(outcome !== outcomes.RUNNING && { endedAt: attempts.endedAt.get(at) }),
      ...(reportId !== '' && { reportId }),
      cancelled: attempts.cancelled.get(at) !== 0,
    })
  }
  return views
}

function viewLease({ authoritative }: State, row: number): Lease {
  const { tasks, attempts, workers } = authoritative
  const attempt = tasks.newestAttempt.get(row)
  const grantedAt = attempts.grantedAt.get(attempt)
  return {
    leaseId: tasks.currentLeaseId.get(row),
    taskId: tasks.taskId.get(row),
    workerId: workers.text(attempts.worker.get(attempt)),
    grantedAt,
    leaseExpiry: tasks.due.get(row),
    windowEnd: grantedAt + tasks.executionWindowMs.get(row),
  }
}
