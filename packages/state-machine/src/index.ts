export { apply, skipTo } from './apply.js'
export { InvariantViolation, StateMachineError, type StateMachineErrorCode } from './errors.js'
export { hashState } from './hash.js'
export { checkInvariants } from './invariants.js'
export {
  type Ahead,
  countAhead,
  countQueues,
  countTasks,
  endedTasks,
  expiredInARow,
  forgettableThrough,
  leasedTasks,
  longestQueues,
  nextEligible,
  nextEligibleAt,
  nextExpiry,
  type QueueSize,
  queueNames,
  type TaskCounts,
  waitingTasks,
} from './lines.js'
export {
  type Backoff,
  defaultQueue,
  type LeaseExpired,
  type LeaseExtended,
  type LeaseGranted,
  type LogRecord,
  type RecordOf,
  type RecordType,
  type RetryPolicy,
  recordLimits,
  type TaskCancelled,
  type TaskCompleted,
  type TaskCreated,
  type TaskDead,
  type TaskFailed,
  type TasksForgotten,
} from './record.js'
export { decodeRecord, encodeRecord, recordVersion } from './record-codec.js'
export { retryDelayMs } from './retry-policy.js'
export { createState, type State, type StateOptions } from './state.js'
export { type EncodeStateOptions, encodeState, StateDecoder } from './state-codec.js'
export { isSameSubmission, notBeforeOf, type Submission } from './submission.js'
export {
  type Attempt,
  type AttemptOutcome,
  attemptOutcomes,
  attemptsKept,
  type Counters,
  type Lease,
  type LeaseStanding,
  type Task,
  type TaskState,
  type TaskSummary,
  taskStates,
} from './task.js'
export { transitions } from './transitions.js'
export {
  findByRequestId,
  getCounters,
  getCurrentLeaseId,
  getEligibleAfter,
  getLease,
  getLeasedTaskId,
  getLeaseIds,
  getOffer,
  getQueue,
  getStanding,
  getSummary,
  getTask,
  getTaskState,
  hasTask,
  largestContents,
  listTasks,
  position,
  viewPayload,
  viewResult,
} from './views.js'
export { release, withhold } from './withholding.js'
