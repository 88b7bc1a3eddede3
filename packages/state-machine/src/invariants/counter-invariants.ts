import { attemptsOf } from '../state/attempts.js'
import type { State } from '../state/state.js'
import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import type { Counters } from '../task.js'

/** Contradictions between the counters and the tasks, or between counters. */
export function* findCounterFaults(state: State): Generator<string> {
  const { authoritative, derived } = state
  const { tasks, counters } = authoritative
  const { tasksCreated, tasksForgotten, tasksCompleted, tasksFailed, tasksDead } = counters
  const { leasesGranted, leasesExpired, leasesExpiredAtStart, retries } = counters
  if (tasksCreated - tasksForgotten !== tasks.size) {
    yield `${tasksCreated} tasks created less ${tasksForgotten} forgotten are not ${tasks.size}`
  }
  const ended = tasksCompleted + tasksFailed + tasksDead - tasksForgotten
  if (ended !== derived.ended.size)
    yield `${ended} tasks ended by the counters, ${derived.ended.size} by their line`
  if (leasesExpiredAtStart > leasesExpired)
    yield `${leasesExpiredAtStart} of ${leasesExpired} leases expired at start`

  let leased = 0
  for (const row of tasks.rows()) if (tasks.state.get(row) === states.LEASED) leased++
  // Every granted lease is still owned, expired, was reported on, or ended with its task's death.
  const died = leasesGranted - leasesExpired - tasksCompleted - retries - tasksFailed - leased
  if (died < 0 || died > tasksDead)
    yield `${died} leases ended with a task's death, of ${tasksDead} deaths`
  yield* duplicateFaults(counters, leasesExpired + died)
  yield* keptAttemptFaults(state)
}

function* duplicateFaults(counters: Counters, leasesLost: number): Generator<string> {
  const { leasesExpired, possibleDuplicates, confirmedDuplicates, refusedReports } = counters
  if (possibleDuplicates > leasesExpired)
    yield `${possibleDuplicates} duplicates are possible after ${leasesExpired} expiries`
  if (confirmedDuplicates > possibleDuplicates)
    yield `${confirmedDuplicates} duplicates are confirmed, ${possibleDuplicates} are possible`
  if (confirmedDuplicates > refusedReports)
    yield `${confirmedDuplicates} duplicates are confirmed by ${refusedReports} refused reports`
  if (refusedReports > leasesLost)
    yield `${refusedReports} reports were refused under ${leasesLost} lost leases`
}

/** Attempts that tasks still remember but that are not in the counters. */
function* keptAttemptFaults(state: State): Generator<string> {
  const { tasks, attempts, counters } = state.authoritative
  const kept = { possibleDuplicates: 0, confirmedDuplicates: 0, refusedReports: 0 }
  for (const row of tasks.rows()) {
    const newest = tasks.newestAttempt.get(row)
    for (const attempt of attemptsOf(state, row)) {
      const isPossible = attempts.outcome.get(attempt) === outcomes.EXPIRED && attempt !== newest
      const isRefused = attempts.cancelled.get(attempt) !== 0
      if (isPossible) kept.possibleDuplicates++
      if (isRefused) kept.refusedReports++
      if (isPossible && isRefused) kept.confirmedDuplicates++
    }
  }
  for (const name of Object.keys(kept) as (keyof typeof kept)[]) {
    if (counters[name] < kept[name])
      yield `${name} is ${counters[name]}, and ${kept[name]} are among the attempts`
  }
}
