// For the packages, apps and tools of this repository only. May change in any release.
export {
  type Ahead,
  countAhead,
  expiredInARow,
  forgettableThrough,
  longestQueues,
} from './state/lines.js'
export { isSameSubmission, notBeforeOf, type Submission } from './state/submission.js'
export { release, withhold } from './state/task-lines.js'
export {
  getCurrentLeaseId,
  getEligibleAfter,
  getLeasedTaskId,
  getLeaseIds,
  getOffer,
  getQueue,
  getStanding,
  getSummary,
  getTaskState,
  hasTask,
  largestContents,
  viewPayload,
  viewResult,
} from './state/views.js'
export { type LeaseStanding, taskStates } from './task.js'
