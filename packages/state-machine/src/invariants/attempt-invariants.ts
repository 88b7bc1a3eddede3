import { attemptsOf } from '../state/attempts.js'
import type { State } from '../state/state.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import { attemptOutcomes, attemptsKept } from '../task.js'

/** Faults in the attempts of single tasks, and LSNs that two records of tasks share. */
export function* findAttemptFaults(state: State): Generator<string> {
  const { tasks } = state.authoritative
  const lsns = new Set<number>()
  for (const row of tasks.rows()) {
    for (const faults of [orderFaults, outcomeFaults, countFaults]) {
      for (const fault of faults(state, row)) yield `task ${tasks.taskId.get(row)}: ${fault}`
    }
    // Each LSN belongs to one record, which creates one task, grants one lease or ends one task.
    for (const lsn of lsnsOf(state, row)) {
      if (lsns.has(lsn)) yield `LSN ${lsn} is there twice, in task ${tasks.taskId.get(row)}`
      lsns.add(lsn)
    }
  }
}

function* lsnsOf(state: State, row: number): Generator<number> {
  const { tasks, attempts } = state.authoritative
  yield tasks.taskId.get(row)
  for (const attempt of attemptsOf(state, row)) yield attempts.leaseId.get(attempt)
  if (tasks.state.get(row) > states.LEASED) yield tasks.due.get(row)
}

/** From the newest attempt to the oldest, LSNs and times must decrease. */
function* orderFaults(state: State, row: number): Generator<string> {
  const { tasks, attempts, lastLsn, lastAt } = state.authoritative
  let newer = Number.POSITIVE_INFINITY
  let endedBy = lastAt
  for (const attempt of attemptsOf(state, row)) {
    const leaseId = attempts.leaseId.get(attempt)
    const grantedAt = attempts.grantedAt.get(attempt)
    const isOpen = attempts.outcome.get(attempt) === outcomes.OPEN
    const endedAt = isOpen ? grantedAt : attempts.endedAt.get(attempt)
    if (newer === Number.POSITIVE_INFINITY && leaseId > lastLsn)
      yield `its lease is newer than LSN ${lastLsn}`
    if (leaseId >= newer) yield `lease ${leaseId} is not older than lease ${newer}`
    if (leaseId <= tasks.taskId.get(row)) yield `lease ${leaseId} is older than its task`
    if (grantedAt < tasks.createdAt.get(row))
      yield `lease ${leaseId} was granted before its task was created`
    if (endedAt < grantedAt) yield `lease ${leaseId} ended before it was granted`
    if (endedAt > endedBy) yield `lease ${leaseId} was there after ${endedBy}`
    if (attempts.leaseExpiry.get(attempt) <= grantedAt)
      yield `lease ${leaseId} expires before it was granted`
    if (attempts.leaseExpiry.get(attempt) > grantedAt + tasks.executionWindowMs.get(row))
      yield `lease ${leaseId} passes the execution window`
    newer = leaseId
    endedBy = grantedAt
  }
}

function* outcomeFaults(state: State, row: number): Generator<string> {
  const { tasks, attempts } = state.authoritative
  const newest = tasks.newestAttempt.get(row)
  for (const attempt of attemptsOf(state, row)) {
    const lease = `lease ${attempts.leaseId.get(attempt)}`
    const outcome = attempts.outcome.get(attempt)
    const name = attemptOutcomes[outcome]
    const isReported = outcome === outcomes.COMPLETED || outcome === outcomes.FAILED
    const isLost = outcome === outcomes.EXPIRED || outcome === outcomes.DEAD
    const endedAt = attempts.endedAt.get(attempt)
    const isOver = endedAt >= attempts.leaseExpiry.get(attempt)
    if (name === undefined) yield `the outcome of ${lease} is ${outcome}`
    if (attempt !== newest && outcome !== outcomes.EXPIRED && outcome !== outcomes.FAILED)
      yield `${lease} was not the last one and ended as ${name}`
    if (attempts.cancelled.get(attempt) !== 0 && !isLost) yield `${lease} is cancelled and ${name}`
    if (outcome === outcomes.OPEN && endedAt !== 0) yield `${lease} is OPEN and ended at ${endedAt}`
    if (!isReported && attempts.reportId.get(attempt) !== 0) yield `${lease} is ${name} by a report`
    if (isReported && isOver) yield `${lease} is ${name} after its expiry`
    if (outcome === outcomes.EXPIRED && !isOver) yield `${lease} is EXPIRED before its expiry`
  }
}

function* countFaults(state: State, row: number): Generator<string> {
  const { tasks } = state.authoritative
  const kept = [...attemptsOf(state, row)].length
  if (kept !== tasks.attempts.get(row))
    yield `counts ${tasks.attempts.get(row)} attempts kept, has ${kept}`
  const expected = Math.min(tasks.attempt.get(row), attemptsKept)
  if (kept !== expected) yield `keeps ${kept} attempts of ${tasks.attempt.get(row)}`
}
