import { omitUndefined } from '../omit-undefined.js'
import type { RememberedTask } from '../task/remembered.js'
import type { TaskHistory } from '../task/task-history.js'
import { explainAttempts } from './attempts.js'
import { findCauses } from './causes.js'
import { findDuplicates } from './duplicates.js'
import { tellEvents } from './events.js'
import type { ExplainOptions, Explanation } from './explanation.js'
import { type KnownTask, toKnownTask } from './known-task.js'
import { findOverlaps } from './overlaps.js'
import { summarize } from './summary.js'

/** Explains a task from records and memory alone. `undefined` if they contain nothing about it. */
export function explainTask(
  history: TaskHistory,
  options: ExplainOptions = {},
): Explanation | undefined {
  if (history.entries.length === 0 && history.remembered === undefined) return undefined
  return explain(toKnownTask(history, options))
}

/** Explains a task from a coordinator's memory alone, without records, and therefore without heartbeats. */
export function explainRemembered(
  remembered: RememberedTask,
  options: ExplainOptions = {},
): Explanation {
  const { taskId } = remembered
  const nothing = { firstLsn: Number.POSITIVE_INFINITY, entries: [], openings: [] }
  return explain(toKnownTask({ taskId, remembered, ...nothing }, options))
}

function explain(task: KnownTask): Explanation {
  const { taskId, asOf, state, runs, removed } = task
  const causes = findCauses(task)
  return omitUndefined<Explanation>({
    taskId,
    asOf,
    summary: summarize(task, causes),
    state,
    runs,
    events: tellEvents(task, causes),
    attempts: explainAttempts(task),
    overlaps: findOverlaps(task),
    duplicates: findDuplicates(task),
    causes,
    removed,
  })
}
