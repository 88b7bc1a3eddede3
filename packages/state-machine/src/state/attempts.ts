import type { LeaseGranted } from '../record.js'
import { outcomes } from '../store/attempt-rows.js'
import { attemptsKept } from '../task.js'
import type { State } from './state.js'

/** Adds a new attempt to the task, and removes the oldest one if there are too many. */
export function beginAttempt(state: State, row: number, record: LeaseGranted): void {
  const { tasks, attempts, workers } = state.authoritative
  const attempt = attempts.add()
  attempts.leaseId.set(attempt, record.leaseId)
  attempts.grantedAt.set(attempt, record.at)
  attempts.leaseExpiry.set(attempt, record.leaseExpiry)
  attempts.worker.set(attempt, workers.use(record.workerId))
  attempts.outcome.set(attempt, outcomes.OPEN)
  attempts.older.set(attempt, tasks.newestAttempt.get(row))
  tasks.newestAttempt.set(row, attempt)
  tasks.attempt.set(row, record.attempt)
  if (tasks.attempts.get(row) < attemptsKept) tasks.attempts.set(row, tasks.attempts.get(row) + 1)
  else forgetOldest(state, row)
  tasks.currentLeaseId.set(row, record.leaseId)
  state.derived.byLsn.add(record.leaseId, row)
}

/** Ends the OPEN attempt and its lease. `reportId` is a blob. */
export function endAttempt(
  state: State,
  row: number,
  outcome: number,
  at: number,
  reportId = 0,
): void {
  const { tasks, attempts } = state.authoritative
  const attempt = tasks.newestAttempt.get(row)
  attempts.outcome.set(attempt, outcome)
  attempts.endedAt.set(attempt, at)
  attempts.reportId.set(attempt, reportId)
  state.derived.byLsn.remove(tasks.currentLeaseId.get(row))
  tasks.currentLeaseId.set(row, 0)
}

/** The attempt of the task with this lease, or 0 if the task does not remember it. */
export function findAttempt({ authoritative }: State, row: number, leaseId: number): number {
  const { tasks, attempts } = authoritative
  let attempt = tasks.newestAttempt.get(row)
  while (attempt !== 0 && attempts.leaseId.get(attempt) !== leaseId)
    attempt = attempts.older.get(attempt)
  return attempt
}

/**
 * The task's attempts, newest first. For readers of a possibly broken state: it stops one after the
 * maximum number of attempts, wherever the links lead.
 */
export function* attemptsOf({ authoritative }: State, row: number): Generator<number> {
  const { tasks, attempts } = authoritative
  let attempt = tasks.newestAttempt.get(row)
  for (let seen = 0; attempt !== 0 && seen <= attemptsKept; seen++) {
    yield attempt
    attempt = attempts.older.get(attempt)
  }
}

export function forgetAttempts(state: State, row: number): void {
  const { tasks, attempts } = state.authoritative
  let attempt = tasks.newestAttempt.get(row)
  while (attempt !== 0) {
    const older = attempts.older.get(attempt)
    forget(state, attempt)
    attempt = older
  }
}

function forgetOldest(state: State, row: number): void {
  const { tasks, attempts } = state.authoritative
  let secondOldest = tasks.newestAttempt.get(row)
  let oldest = attempts.older.get(secondOldest)
  while (attempts.older.get(oldest) !== 0) {
    secondOldest = oldest
    oldest = attempts.older.get(oldest)
  }
  attempts.older.set(secondOldest, 0)
  forget(state, oldest)
}

function forget({ authoritative }: State, attempt: number): void {
  const { attempts, workers, blobs } = authoritative
  workers.drop(attempts.worker.get(attempt))
  blobs.remove(attempts.reportId.get(attempt))
  attempts.remove(attempt)
}
