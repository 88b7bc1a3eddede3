import { getTask, type Task } from '@tenure/state-machine'
import { type Entry, keep } from './entry.js'
import type { History } from './history.js'
import type { Opening } from './log-source.js'
import { isWithin, type Position } from './position.js'
import { TaskFilter } from './task-filter.js'

/** What a log says about one task. */
export interface TaskHistory {
  readonly taskId: number
  /** Every record that concerns the task and is left, in order. */
  readonly entries: readonly Entry[]
  /** The first record that the log still has: what happened before is only remembered. */
  readonly firstLsn: number
  /** The task as a checkpoint or a coordinator remembers it, where records of it were removed. */
  readonly remembered?: Task
  readonly openings: readonly Opening[]
}

export interface TaskHistoryOptions {
  readonly until?: Position
  /** Told how many records were looked at. */
  readonly onProgress?: (read: number) => void
}

/** Reads from the task's creation on all that concerns it. Without any record of it, `entries` is empty. */
export async function readTaskHistory(
  history: History,
  taskId: number,
  { until, onProgress }: TaskHistoryOptions = {},
): Promise<TaskHistory> {
  const { firstLsn } = history
  const remembered = taskId < firstLsn ? await recall(history, taskId) : undefined
  const filter = new TaskFilter(taskId, {
    leaseIds: remembered?.attempts.map(({ leaseId }) => leaseId) ?? [],
    endedLsn: remembered?.endedLsn,
  })
  const entries: Entry[] = []
  let read = 0
  const span = { fromLsn: Math.max(taskId, firstLsn), ...(until !== undefined && { until }) }
  for await (const run of history.read(span)) {
    for (const entry of run) if (filter.takes(entry)) entries.push(keep(entry))
    read += run.length
    onProgress?.(read)
  }
  const openings = history.openings.filter(({ firstLsn, at }) => isWithin(until, firstLsn, at))
  return { taskId, entries, firstLsn, openings, ...(remembered !== undefined && { remembered }) }
}

/** The oldest checkpoint lies nearest to what was removed. */
async function recall(history: History, taskId: number): Promise<Task | undefined> {
  const state = await history.oldestState()
  return state === undefined ? undefined : getTask(state, taskId)
}
