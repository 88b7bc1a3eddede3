import { listTasks, type State, type TaskState } from '@tenure/state-machine'
import { taskStates } from '@tenure/state-machine/internal'
import { showCount } from '../terminal/format.js'

/** The number of tasks in each state. */
export type TaskTotals = Readonly<Record<TaskState, number>>

export function countByState(state: State): TaskTotals {
  const totals = Object.fromEntries(taskStates.map((name) => [name, 0])) as Record<
    TaskState,
    number
  >
  for (const task of listTasks(state)) totals[task.state]++
  return totals
}

/** `3 WAITING, 1 LEASED`. */
export function describeTotals(totals: TaskTotals): string {
  const parts = Object.entries(totals).filter(([, count]) => count > 0)
  return parts.length === 0
    ? 'none'
    : parts.map(([state, count]) => `${showCount(count)} ${state}`).join(', ')
}
