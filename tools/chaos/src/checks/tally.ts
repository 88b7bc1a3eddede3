import type { Case } from './case.js'
import type { Grant, History, TaskHistory } from './history.js'

/** Counts of some tasks, which can be added up. */
export interface Tally {
  readonly acknowledged: number
  /** Acknowledged tasks that are not in the log or have not ended. */
  readonly lost: number
  readonly completed: number
  readonly failed: number
  readonly dead: number
  readonly grants: number
  /** Executions that started. */
  readonly executions: number
  /** Grants that never reached their worker: the answer was lost in the network. */
  readonly answersLost: number
  /** Grants that reached their worker but ended before the handler began. */
  readonly notBegun: number
  readonly expirations: number
  /** Attempts granted after the previous one had expired. */
  readonly possibleDuplicates: number
  /** Attempts that expired and were followed by another one, but whose worker reported later. */
  readonly confirmedDuplicates: number
  /** Reports answered CANCELLED, one for each lease. */
  readonly refusedReports: number
  readonly tasks: number
  readonly extensions: number
  readonly failures: number
}

export function count({ parcel, history, started, workerLines }: Case): Tally {
  const { counts, tasks } = history
  const notStarted = [...history.leases.keys()].filter((leaseId) => !started.has(leaseId))
  const answersLost = notStarted.filter((leaseId) => !workerLines.has(leaseId)).length
  const hasEnded = (taskId: number) => tasks.get(taskId)?.ends.length === 1
  const ends = [...tasks.values()].flatMap((task) => task.ends)
  const countEnds = (end: TaskHistory['ends'][number]) => ends.filter((it) => it === end).length
  return {
    acknowledged: parcel.acknowledged.length,
    lost: parcel.acknowledged.filter(({ taskId }) => !hasEnded(taskId)).length,
    completed: countEnds('COMPLETED'),
    failed: countEnds('FAILED'),
    dead: countEnds('DEAD'),
    grants: counts.LeaseGranted,
    executions: parcel.executions.filter(({ what }) => what === 'started').length,
    answersLost,
    notBegun: notStarted.length - answersLost,
    expirations: counts.LeaseExpired,
    possibleDuplicates: expiredAndFollowed(history).length,
    confirmedDuplicates: expiredAndFollowed(history).filter((grant) => grant.cancelled > 0).length,
    refusedReports: counts.TaskCancelled,
    tasks: counts.TaskCreated,
    extensions: counts.LeaseExtended,
    failures: counts.TaskFailed,
  }
}

export function addUp(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, tally) =>
      Object.fromEntries(
        Object.entries(sum).map(([name, value]) => [name, value + tally[name as keyof Tally]]),
      ) as unknown as Tally,
    nothing,
  )
}

const nothing: Tally = {
  acknowledged: 0,
  lost: 0,
  completed: 0,
  failed: 0,
  dead: 0,
  grants: 0,
  executions: 0,
  answersLost: 0,
  notBegun: 0,
  expirations: 0,
  possibleDuplicates: 0,
  confirmedDuplicates: 0,
  refusedReports: 0,
  tasks: 0,
  extensions: 0,
  failures: 0,
}

function expiredAndFollowed({ tasks }: History): Grant[] {
  return [...tasks.values()].flatMap(({ grants }) =>
    grants.slice(0, -1).filter(({ end }) => end?.how === 'EXPIRED'),
  )
}
