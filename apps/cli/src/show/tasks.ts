import type { TaskSummary } from '@tenure/client'
import { stateCell } from '../tasks/states.js'
import type { Look } from '../terminal/look.js'
import { showSecond } from '../terminal/times.js'
import { type Column, showColumns } from './columns.js'

/** Many tasks, one in a line. */
export function showTasks(
  tasks: readonly TaskSummary[],
  look: Look,
  options: { heads: boolean },
): string {
  return showColumns(columns, tasks, look, options)
}

const columns: readonly Column<TaskSummary>[] = [
  { head: 'task', right: true, of: ({ taskId }) => String(taskId) },
  { head: 'state', of: ({ state }) => stateCell(state) },
  { head: 'queue', cut: true, of: ({ queue }) => queue },
  { head: 'attempt', right: true, of: ({ attempt }) => String(attempt) },
  { head: 'since', of: ({ stateSince }) => showSecond(stateSince) },
  { head: 'worker', cut: true, of: ({ workerId = '' }) => workerId },
  { head: 'reason', cut: true, of: ({ reason = '' }) => reason.split('\n', 1).join('') },
]
