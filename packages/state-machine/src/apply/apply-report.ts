import type { TaskCancelled, TaskCompleted, TaskFailed } from '../record.js'
import { endAttempt, findAttempt } from '../state/attempts.js'
import { keepOutcome, keepReducedInput, makeReportBlobs } from '../state/contents.js'
import { move } from '../state/due-lists.js'
import { backoffMs } from '../state/retry-policy.js'
import type { State } from '../state/state.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import { attemptOutcomes, attemptsKept } from '../task.js'
import { refuse, requireOwned, requireTask } from './preconditions.js'

/** 000 §4.5, 003 "TaskCompleted": the attempt succeeded, and the task is terminal. */
export function applyTaskCompleted(state: State, lsn: number, record: TaskCompleted): void {
  const { tasks, counters } = state.authoritative
  const { at, result, reportId } = record
  const row = requireValidLease(state, lsn, record)
  const blobs = makeReportBlobs(state, row, result, reportId, true)

  counters.tasksCompleted++
  tasks.expiriesInARow.set(row, 0)
  keepOutcome(state, row, blobs.outcome, result !== undefined)
  keepReducedInput(state, row, blobs.reducedInput)
  endAttempt(state, row, outcomes.COMPLETED, at, blobs.reportId)
  move(state, row, states.COMPLETED, lsn, at)
}

/** 000 §4.7, 003 "TaskFailed": the attempt failed. The retry policy decides whether there is another. */
export function applyTaskFailed(state: State, lsn: number, record: TaskFailed): void {
  const { tasks, counters } = state.authoritative
  const { at, failureReason, reportId } = record
  const row = requireValidLease(state, lsn, record)
  const blobs = makeReportBlobs(state, row, Buffer.from(failureReason), reportId, false)

  const failures = tasks.failures.get(row) + 1
  tasks.failures.set(row, failures)
  tasks.expiriesInARow.set(row, 0)
  keepOutcome(state, row, blobs.outcome, true)
  endAttempt(state, row, outcomes.FAILED, at, blobs.reportId)
  if (failures <= tasks.maxRetries.get(row)) {
    counters.retries++
    move(state, row, states.WAITING, at + backoffMs(tasks, row, failures), at)
  } else {
    counters.tasksFailed++
    move(state, row, states.FAILED, lsn, at)
  }
}

/** 000 §4.6, 003 "TaskCancelled": a report without authority. No state changes; the report is counted. */
export function applyTaskCancelled(state: State, lsn: number, record: TaskCancelled): void {
  const { tasks, attempts, counters } = state.authoritative
  const row = requireTask(state, lsn, record)
  const attempt = findAttempt(state, row, record.leaseId)
  if (attempt === 0) {
    refuse(
      record,
      lsn,
      'lease must have been granted for the task',
      record.leaseId,
      `one of its last ${attemptsKept} leases`,
    )
  }
  const outcome = attempts.outcome.get(attempt)
  if (outcome !== outcomes.EXPIRED && outcome !== outcomes.DEAD) {
    refuse(
      record,
      lsn,
      'lease must have lost its authority',
      attemptOutcomes[outcome],
      'EXPIRED or DEAD',
    )
  }
  if (attempts.cancelled.get(attempt) !== 0) {
    refuse(
      record,
      lsn,
      'lease must not have been cancelled before',
      'a second',
      'one TaskCancelled',
    )
  }

  counters.refusedReports++
  // This attempt expired and another one followed, because no grant follows a death. If it is the
  // newest attempt, `applyLeaseGranted` counts the duplicate when another one follows.
  if (attempt !== tasks.newestAttempt.get(row)) counters.confirmedDuplicates++
  attempts.cancelled.set(attempt, 1)
}

/** The row of the task that the record's lease owns. The lease must not have expired. */
function requireValidLease(state: State, lsn: number, record: TaskCompleted | TaskFailed): number {
  const row = requireOwned(state, lsn, record)
  const expiry = state.authoritative.tasks.due.get(row)
  if (record.at >= expiry) {
    refuse(record, lsn, 'lease must not be expired', record.at, expiry, 'less than')
  }
  return row
}
