import { listTasks, type State, type TaskState, taskStates } from '@tenure/state-machine'

/** How many tasks there are in each state. */
export type TaskTotals = Readonly<Record<TaskState, number>>

export function countByState(state: State): TaskTotals {
  const totals = Object.fromEntries(taskStates.map((name) => [name, 0])) as Record<
    TaskState,
    number
  >
  for (const task of listTasks(state)) totals[task.state]++
  return totals
}
