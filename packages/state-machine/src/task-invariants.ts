import type { State } from './state.js'
import { outcomes } from './store/attempt-rows.js'
import { states } from './store/task-rows.js'
import { attemptOutcomes, attemptsKept, taskStates } from './task.js'

/** What is wrong with single tasks and their attempts. */
export function* findTaskFaults(state: State): Generator<string> {
  for (const row of state.authoritative.tasks.rows()) {
    const faults = [
      ...stateFaults(state, row),
      ...attemptFaults(state, row),
      ...timeFaults(state, row),
    ]
    const taskId = state.authoritative.tasks.taskId.get(row)
    yield* faults.map((fault) => `task ${taskId}: ${fault}`)
  }
}

function* stateFaults({ authoritative }: State, row: number): Generator<string> {
  const { tasks, attempts } = authoritative
  const state = tasks.state.get(row)
  const name = taskStates[state]
  const leaseId = tasks.currentLeaseId.get(row)
  const newest = tasks.newestAttempt.get(row)
  const outcome = newest === 0 ? undefined : attempts.outcome.get(newest)
  const failures = tasks.failures.get(row)
  const retriesMax = tasks.maxRetries.get(row)

  if (name === undefined) yield `is in state ${state}`
  if (state === states.LEASED) {
    if (leaseId === 0) yield 'is LEASED and has no lease'
    if (newest === 0 || attempts.leaseId.get(newest) !== leaseId)
      yield 'its lease is not its newest attempt'
    else if (attempts.leaseExpiry.get(newest) !== tasks.due.get(row))
      yield 'has two expiries of one lease'
    if (outcome !== outcomes.RUNNING) yield 'is LEASED and its newest attempt does not run'
  } else {
    if (leaseId !== 0) yield `is ${name} and has lease ${leaseId}`
    if (outcome === outcomes.RUNNING) yield `is ${name} and its newest attempt runs`
  }
  if (state === states.COMPLETED && outcome !== outcomes.COMPLETED)
    yield 'is COMPLETED and no attempt is'
  if (state !== states.COMPLETED && outcome === outcomes.COMPLETED)
    yield `is ${name} after it was COMPLETED`
  if (state === states.FAILED && outcome !== outcomes.FAILED)
    yield 'is FAILED and its newest attempt is not'
  if (state === states.FAILED && failures <= retriesMax) yield 'is FAILED with retries left'
  if (state !== states.FAILED && failures > retriesMax) yield `is ${name} with no retries left`
  if (state !== states.DEAD && outcome === outcomes.DEAD) yield `is ${name} after it was DEAD`
}

function* attemptFaults({ authoritative }: State, row: number): Generator<string> {
  const { tasks, attempts } = authoritative
  let kept = 0
  let newer = Number.POSITIVE_INFINITY
  for (let at = tasks.newestAttempt.get(row); at !== 0; at = attempts.older.get(at)) {
    const leaseId = attempts.leaseId.get(at)
    const outcome = attempts.outcome.get(at)
    if (leaseId >= newer) yield `lease ${leaseId} is not older than lease ${newer}`
    if (leaseId <= tasks.taskId.get(row)) yield `lease ${leaseId} is older than its task`
    if (attemptOutcomes[outcome] === undefined)
      yield `the outcome of lease ${leaseId} is ${outcome}`
    if (kept > 0 && outcome !== outcomes.EXPIRED && outcome !== outcomes.FAILED) {
      yield `lease ${leaseId} was not the last one and ended as ${attemptOutcomes[outcome]}`
    }
    if (
      attempts.cancelled.get(at) !== 0 &&
      outcome !== outcomes.EXPIRED &&
      outcome !== outcomes.DEAD
    ) {
      yield `lease ${leaseId} is cancelled and ${attemptOutcomes[outcome]}`
    }
    if (
      attempts.leaseExpiry.get(at) >
      attempts.grantedAt.get(at) + tasks.executionWindowMs.get(row)
    ) {
      yield `lease ${leaseId} passes the execution window`
    }
    newer = leaseId
    kept++
    if (kept > attemptsKept) break
  }
  if (kept !== tasks.attempts.get(row))
    yield `counts ${tasks.attempts.get(row)} attempts kept, has ${kept}`
  const expected = Math.min(tasks.attempt.get(row), attemptsKept)
  if (kept !== expected) yield `keeps ${kept} attempts of ${tasks.attempt.get(row)}`
}

function* timeFaults({ authoritative }: State, row: number): Generator<string> {
  const { tasks, lastLsn, lastAt } = authoritative
  const due = tasks.due.get(row)
  const terminal = tasks.state.get(row) > states.LEASED
  if (tasks.taskId.get(row) > lastLsn) yield `is newer than LSN ${lastLsn}`
  const newest = tasks.newestAttempt.get(row)
  if (newest !== 0 && authoritative.attempts.leaseId.get(newest) > lastLsn)
    yield `its lease is newer than LSN ${lastLsn}`
  if (tasks.createdAt.get(row) > tasks.stateSince.get(row)) yield 'changed before it was created'
  if (tasks.stateSince.get(row) > lastAt) yield `changed after the last record, at ${lastAt}`
  if (terminal && (due <= tasks.taskId.get(row) || due > lastLsn)) yield `ended at LSN ${due}`
}
