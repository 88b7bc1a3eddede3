import { omitUndefined } from '../omit-undefined.js'
import type { RememberedTask } from '../task/remembered.js'
import type { TaskHistory } from '../task/task-history.js'
import { type Account, keepAccount } from './account.js'
import { explainAttempts } from './attempts.js'
import { findCauses } from './causes.js'
import { findDuplicates } from './duplicates.js'
import { tellEvents } from './events.js'
import type { ExplainOptions, Explanation } from './explanation.js'
import { findOverlaps } from './overlaps.js'
import { summarize } from './summary.js'

/** Explains a task from records and memory alone. `undefined` if they contain nothing about it. */
export function explainTask(
  history: TaskHistory,
  options: ExplainOptions = {},
): Explanation | undefined {
  if (history.entries.length === 0 && history.remembered === undefined) return undefined
  return explain(keepAccount(history, options))
}

/** Explains a task from a coordinator's memory alone, without records, and therefore without heartbeats. */
export function explainRemembered(
  remembered: RememberedTask,
  options: ExplainOptions = {},
): Explanation {
  const { taskId } = remembered
  const nothing = { firstLsn: Number.POSITIVE_INFINITY, entries: [], openings: [] }
  return explain(keepAccount({ taskId, remembered, ...nothing }, options))
}

function explain(account: Account): Explanation {
  const { taskId, asOf, state, runs, removed } = account
  const causes = findCauses(account)
  return omitUndefined<Explanation>({
    taskId,
    asOf,
    summary: summarize(account, causes),
    state,
    runs,
    events: tellEvents(account, causes),
    attempts: explainAttempts(account),
    overlaps: findOverlaps(account),
    duplicates: findDuplicates(account),
    causes,
    removed,
  })
}
