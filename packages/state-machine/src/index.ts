export { apply, skipTo } from './apply/apply.js'
export { transitions } from './apply/transitions.js'
export { InvariantViolation, StateMachineError, type StateMachineErrorCode } from './errors.js'
export { checkInvariants } from './invariants/invariants.js'
export { decodeRecord, encodeRecord } from './record/record-codec.js'
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
  countQueues,
  countTasks,
  endedTasks,
  leasedTasks,
  nextEligible,
  nextEligibleAt,
  nextExpiry,
  type QueueSize,
  queueNames,
  type TaskCounts,
  waitingTasks,
} from './state/queries.js'
export { createState, type State, type StateOptions } from './state/state.js'
export {
  findByRequestId,
  getCounters,
  getLease,
  getTask,
  listTasks,
  position,
} from './state/views.js'
export type {
  Attempt,
  AttemptOutcome,
  Counters,
  Lease,
  Task,
  TaskState,
  TaskSummary,
} from './task.js'
