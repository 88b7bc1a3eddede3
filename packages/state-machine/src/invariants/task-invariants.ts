import { digestBytes } from '../state/contents.js'
import type { State } from '../state/state.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import { taskStates } from '../task.js'

/** Faults in single tasks. */
export function* findTaskFaults(state: State): Generator<string> {
  const { tasks } = state.authoritative
  for (const row of tasks.rows()) {
    for (const faults of [stateFaults, timeFaults, contentFaults]) {
      for (const fault of faults(state, row)) yield `task ${tasks.taskId.get(row)}: ${fault}`
    }
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
    if (outcome !== outcomes.OPEN) yield 'is LEASED and its newest attempt is not OPEN'
  } else {
    if (leaseId !== 0) yield `is ${name} and has lease ${leaseId}`
    if (outcome === outcomes.OPEN) yield `is ${name} and its newest attempt is OPEN`
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
  const ends = failures + tasks.expiriesInARow.get(row)
  if (ends > tasks.attempt.get(row))
    yield `failed and expired ${ends} times in ${tasks.attempt.get(row)} attempts`
}

function* timeFaults(state: State, row: number): Generator<string> {
  const { tasks, lastLsn, lastAt } = state.authoritative
  const due = tasks.due.get(row)
  const stateSince = tasks.stateSince.get(row)
  const terminal = tasks.state.get(row) > states.LEASED
  if (tasks.taskId.get(row) > lastLsn) yield `is newer than LSN ${lastLsn}`
  if (tasks.createdAt.get(row) > stateSince) yield 'changed before it was created'
  if (stateSince > lastAt) yield `changed after the last record, at ${lastAt}`
  if (terminal && (due <= tasks.taskId.get(row) || due > lastLsn)) yield `ended at LSN ${due}`
  if (!terminal && due < stateSince) yield `is due at ${due}, before it was so`
  const since = lastChangeOf(state, row)
  if (stateSince !== since && !(tasks.state.get(row) === states.DEAD && stateSince > since))
    yield `changed at ${stateSince}, and its last attempt did at ${since}`
  const start = Math.max(tasks.createdAt.get(row), tasks.notBefore.get(row))
  if (tasks.state.get(row) === states.WAITING && tasks.attempt.get(row) === 0 && due !== start)
    yield `is due at ${due}, not at ${start}`
}

/** When the newest attempt was granted or ended. Without an attempt, when the task was created. */
function lastChangeOf({ authoritative }: State, row: number): number {
  const { tasks, attempts } = authoritative
  const newest = tasks.newestAttempt.get(row)
  if (newest === 0) return tasks.createdAt.get(row)
  const isOpen = attempts.outcome.get(newest) === outcomes.OPEN
  return isOpen ? attempts.grantedAt.get(newest) : attempts.endedAt.get(newest)
}

function* contentFaults({ authoritative }: State, row: number): Generator<string> {
  const { tasks, blobs } = authoritative
  const state = tasks.state.get(row)
  const idBytes = tasks.requestIdBytes.get(row)
  const input = tasks.input.get(row)
  // `findBlobFaults` reports numbers that are not blobs.
  const inputBytes = blobs.holds(input) ? blobs.length(input) : Number.NaN
  const reduced = idBytes === 0 ? 0 : idBytes + digestBytes
  if (inputBytes < idBytes) yield 'its request_id is longer than all its input'
  if (state === states.COMPLETED && inputBytes !== reduced)
    yield `is COMPLETED and keeps ${inputBytes} bytes of its input, not ${reduced}`
  const hasReason = tasks.hasOutcome.get(row) !== 0
  if (state <= states.LEASED && hasReason !== tasks.failures.get(row) > 0)
    yield `failed ${tasks.failures.get(row)} times and has ${hasReason ? 'a' : 'no'} reason`
  if ((state === states.FAILED || state === states.DEAD) && !hasReason)
    yield `is ${taskStates[state]} without a reason`
}
