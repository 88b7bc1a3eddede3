import type { State } from './state.js'
import { states } from './store/task-rows.js'

/** Where the counters contradict the tasks, or each other. */
export function* findCounterFaults({ authoritative, derived }: State): Generator<string> {
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
  // Every lease that was granted is there, or expired, or was reported on; the others died.
  const died = leasesGranted - leasesExpired - tasksCompleted - retries - tasksFailed - leased
  if (died < 0 || died > tasksDead)
    yield `${died} leases ended with a task's death, of ${tasksDead} deaths`
  if (counters.possibleDuplicates > leasesExpired)
    yield `${counters.possibleDuplicates} duplicates are possible after ${leasesExpired} expiries`
  if (counters.confirmedDuplicates > leasesExpired + tasksDead)
    yield `${counters.confirmedDuplicates} duplicates are confirmed, more than leases were lost`
}
