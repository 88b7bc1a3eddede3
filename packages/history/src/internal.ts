// For the packages, apps and tools of this repository only. May change in any release.
export {
  assessLoss,
  type Fragment,
  type Loss,
  type LossOptions,
  type OpenTask,
  type UndoneTask,
  type VanishingTask,
} from './check/loss.js'
export { explainRemembered } from './explanation/explain-task.js'
export { entriesOf } from './follow/entry.js'
export { type Replayable, readState, replayOnto, skipGap } from './follow/replay.js'
export { omitUndefined } from './omit-undefined.js'
export {
  type AttemptEnd,
  AttemptTracker,
  type TrackedAttempt,
  type TrackedHeartbeat,
} from './task/attempts.js'
export { type FilterPlace, type FilterStart, filterBehind, TaskFilter } from './task/task-filter.js'
export { cutTaskHistory } from './task/task-history.js'
export { whatIfRanges } from './what-if/knobs.js'
