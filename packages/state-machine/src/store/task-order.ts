import type { TaskRows } from './task-rows.js'

/** The one order of every line: `(due, task_id)`. */
export function comesBefore(tasks: TaskRows, a: number, b: number): boolean {
  const dueA = tasks.due.get(a)
  const dueB = tasks.due.get(b)
  return dueA < dueB || (dueA === dueB && tasks.taskId.get(a) < tasks.taskId.get(b))
}
