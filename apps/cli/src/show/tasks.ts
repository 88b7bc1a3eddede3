import type { TaskSummary } from '@tenure/client'
import { type Column, showColumns } from './columns.js'
import type { Look } from './look.js'
import { stateCell } from './states.js'
import { showSecond } from './times.js'

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
