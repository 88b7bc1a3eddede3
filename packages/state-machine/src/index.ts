export { apply, skipTo } from './apply/apply.js'
export { transitions } from './apply/transitions.js'
export { InvariantViolation, StateMachineError, type StateMachineErrorCode } from './errors.js'
export { checkInvariants } from './invariants/invariants.js'
export { decodeRecord, encodeRecord, recordVersion } from './record/record-codec.js'
export {
  defaultQueue,
  type LeaseExpired,
  type LeaseExtended,
  type LeaseGranted,
  type LogRecord,
  type RecordOf,
  type RecordType,
  recordLimits,
  type TaskCancelled,
  type TaskCompleted,
  type TaskCreated,
  type TaskDead,
  type TaskFailed,
  type TasksForgotten,
} from './record.js'
export {
  type EncodeStateOptions,
  encodeState,
  hashState,
  StateDecoder,
} from './snapshot/state-codec.js'
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
} from './state/lines.js'
export { createState, type State, type StateOptions } from './state/state.js'
export { isSameSubmission, notBeforeOf, type Submission } from './state/submission.js'
export { release, withhold } from './state/task-lines.js'
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
} from './state/views.js'
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
