// For the packages, apps and tools of this repository only. May change in any release.

export { release, withhold } from './state/due-lists.js'
export {
  countAhead,
  expiredInARow,
  forgettableThrough,
  longestQueues,
  type TasksAhead,
} from './state/queries.js'
export { isSameSubmission, notBeforeOf, type Submission } from './state/submission.js'
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
