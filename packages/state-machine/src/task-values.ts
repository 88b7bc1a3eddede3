import { keepInput, keepOutcome, outcomeOf, payloadOf, requestIdOf } from './contents.js'
import { malformedState } from './errors.js'
import type { State } from './state.js'
import { outcomes } from './store/attempt-rows.js'
import { states } from './store/task-rows.js'
import { attemptsKept } from './task.js'
import { joinLine } from './task-lines.js'
import { isBoolean, isBytes, isList, isLsn, isText, isWhole, matches, orNull } from './values.js'

/**
 * A task of an encoded state:
 *
 *     [task_id, state, queue, created_at, state_since, due, execution_window,
 *      max_retries, backoff, backoff_max, not_before, request_id, input,
 *      attempt, failures, expiries_in_a_row, outcome, [attempts, the oldest first]]
 *
 * and an attempt of it:
 *
 *     [lease_id, worker_id, granted_at, lease_expiry, outcome, ended_at, report_id, cancelled]
 *
 * States and outcomes are the numbers of their places in `taskStates` and `attemptOutcomes`. `due` is
 * when a WAITING task is eligible, when a LEASED one's lease expires, or the LSN that ended the task.
 * `input` is the payload, or of a COMPLETED task with a request_id the payload's SHA-256; `outcome`
 * the result of a COMPLETED task, else the reason of its last failure or its death.
 */
export function taskValues(state: State, row: number): unknown[] {
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

function attemptValues({ authoritative }: State, row: number): unknown[] {
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
      outcome === outcomes.RUNNING ? null : attempts.endedAt.get(at),
      attempts.reportId.get(at) === 0 ? null : blobs.text(attempts.reportId.get(at)),
      attempts.cancelled.get(at) !== 0,
    ])
  }
  return values.reverse()
}

const taskKinds = [
  ...[isLsn, isWhole, isText, isWhole, isWhole, isWhole, isWhole],
  ...[isWhole, isWhole, orNull(isWhole), orNull(isWhole), orNull(isText), isBytes],
  ...[isWhole, isWhole, isWhole, orNull(isBytes), isList],
]

const attemptKinds = [
  ...[isLsn, isText, isWhole, isWhole],
  ...[isWhole, orNull(isWhole), orNull(isText), isBoolean],
]

/** Adds the task to the state. What it says is taken as it is: `checkInvariants` asks whether it fits. */
export function restoreTask(state: State, values: unknown): void {
  if (!matches(values, taskKinds)) throw malformedState('a task is none')
  const [
    taskId,
    stateNumber,
    queue,
    createdAt,
    stateSince,
    due,
    executionWindowMs,
    maxRetries,
    backoffMs,
    backoffMsMax,
    notBefore,
    requestId,
    input,
    attempt,
    failures,
    expiriesInARow,
    outcome,
    attempts,
  ] = values
  const { tasks, queues } = state.authoritative
  const { byLsn, byRequestId } = state.derived
  if (stateNumber > states.DEAD) throw malformedState(`task ${taskId} is in state ${stateNumber}`)
  if (byLsn.get(taskId) !== 0) throw malformedState(`LSN ${taskId} is there twice`)
  if (requestId !== null && byRequestId.find(requestId) !== 0) {
    throw malformedState(`task ${taskId} has the request_id of another task`)
  }

  const row = tasks.add()
  tasks.taskId.set(row, taskId)
  tasks.state.set(row, stateNumber)
  tasks.queue.set(row, queues.use(queue))
  tasks.createdAt.set(row, createdAt)
  tasks.stateSince.set(row, stateSince)
  tasks.due.set(row, due)
  tasks.executionWindowMs.set(row, executionWindowMs)
  tasks.maxRetries.set(row, maxRetries)
  tasks.backoffMs.set(row, backoffMs)
  tasks.exponential.set(row, backoffMsMax === null ? 0 : 1)
  tasks.backoffMsMax.set(row, backoffMsMax ?? 0)
  tasks.hasNotBefore.set(row, notBefore === null ? 0 : 1)
  tasks.notBefore.set(row, notBefore ?? 0)
  tasks.attempt.set(row, attempt)
  tasks.failures.set(row, failures)
  tasks.expiriesInARow.set(row, expiriesInARow)
  keepInput(state, row, input, requestId ?? undefined)
  keepOutcome(state, row, outcome ?? undefined)
  byLsn.add(taskId, row)
  if (requestId !== null) byRequestId.add(row, byRequestId.hash(requestId))
  if (attempts.length > attemptsKept) throw malformedState(`task ${taskId} has too many attempts`)
  for (const attempt of attempts) restoreAttempt(state, row, attempt)
  if (stateNumber === states.LEASED) restoreLease(state, row)
  joinLine(state, row, state.authoritative.lastAt)
}

/** Adds the attempt as the newest of the task. */
function restoreAttempt({ authoritative }: State, row: number, values: unknown): void {
  if (!matches(values, attemptKinds)) throw malformedState('an attempt is none')
  const [leaseId, workerId, grantedAt, leaseExpiry, outcome, endedAt, reportId, cancelled] = values
  if (outcome > outcomes.DEAD) throw malformedState(`the outcome of lease ${leaseId} is ${outcome}`)

  const { tasks, attempts, workers, blobs } = authoritative
  const attempt = attempts.add()
  attempts.leaseId.set(attempt, leaseId)
  attempts.worker.set(attempt, workers.use(workerId))
  attempts.grantedAt.set(attempt, grantedAt)
  attempts.leaseExpiry.set(attempt, leaseExpiry)
  attempts.outcome.set(attempt, outcome)
  attempts.endedAt.set(attempt, endedAt ?? 0)
  attempts.reportId.set(attempt, blobs.addText(reportId ?? ''))
  attempts.cancelled.set(attempt, cancelled ? 1 : 0)
  attempts.older.set(attempt, tasks.newestAttempt.get(row))
  tasks.newestAttempt.set(row, attempt)
  tasks.attempts.set(row, tasks.attempts.get(row) + 1)
}

/** Makes the newest attempt's lease the task's current one. */
function restoreLease({ authoritative, derived }: State, row: number): void {
  const { tasks, attempts } = authoritative
  const attempt = tasks.newestAttempt.get(row)
  const leaseId = attempt === 0 ? 0 : attempts.leaseId.get(attempt)
  if (leaseId === 0 || derived.byLsn.get(leaseId) !== 0) {
    throw malformedState(`task ${tasks.taskId.get(row)} is LEASED without a lease of its own`)
  }
  tasks.currentLeaseId.set(row, leaseId)
  derived.byLsn.add(leaseId, row)
}
