import type { DuplicateCounts, NaiveLease } from './duplicates.js'
import type { NaiveTask } from './task.js'

/** The state of the model. It can be read, copied and compared directly. */
export interface NaiveState {
  lastLsn: number
  lastAt: number
  tasks: NaiveTask[]
  /** Every lease ever granted, including those that their task no longer remembers. */
  leases: NaiveLease[]
  counted: Omit<NaiveCounters, keyof DuplicateCounts>
}

export interface NaiveCounters extends DuplicateCounts {
  tasksCreated: number
  leasesGranted: number
  leasesExtended: number
  leasesExpired: number
  leasesExpiredAtStart: number
  tasksCompleted: number
  retries: number
  tasksFailed: number
  tasksDead: number
  tasksForgotten: number
}

export function emptyState(): NaiveState {
  return {
    lastLsn: 0,
    lastAt: 0,
    tasks: [],
    leases: [],
    counted: {
      tasksCreated: 0,
      leasesGranted: 0,
      leasesExtended: 0,
      leasesExpired: 0,
      leasesExpiredAtStart: 0,
      tasksCompleted: 0,
      retries: 0,
      tasksFailed: 0,
      tasksDead: 0,
      tasksForgotten: 0,
    },
  }
}

export function findTask(state: NaiveState, taskId: number): NaiveTask | undefined {
  return state.tasks.find((task) => task.taskId === taskId)
}

/** The task that this lease currently owns. */
export function findLeasedTask(state: NaiveState, leaseId: number): NaiveTask | undefined {
  return state.tasks.find((task) => task.state === 'LEASED' && task.currentLeaseId === leaseId)
}

export function findByRequestId(state: NaiveState, requestId: string): NaiveTask | undefined {
  return state.tasks.find((task) => task.requestId === requestId)
}
