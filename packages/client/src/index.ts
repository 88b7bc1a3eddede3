export type { RetryPolicy } from '@tenure/options'
export type { NewRequest } from '@tenure/protocol'
export type {
  Attempt,
  CheckpointInfo,
  Counters,
  QueueStats,
  Stats,
  Task,
  TaskState,
  TaskSummary,
  Why,
  WorkerInfo,
  WorkersInfo,
} from './api/facts.js'
export type {
  HistoryOptions,
  HistoryProgress,
  HistoryRecord,
  Opening,
  TaskHistory,
} from './api/history.js'
export type { ListOptions } from './api/list.js'
export {
  decodeJson,
  encodeJson,
  type Submission,
  type SubmitOptions,
  type TaskOptions,
} from './api/submission.js'
export type { SubmitManyOptions, SubmitOutcome, Submitted } from './api/submit.js'
export type { TaskId } from './api/task-id.js'
export { connect, Tenure } from './api/tenure.js'
export type { WaitOptions } from './api/wait-for.js'
export type { Backoff } from './connection/dialer.js'
export { parseEndpoint } from './connection/endpoint.js'
export type { FailedAttempt, LinkObserver } from './connection/link-observer.js'
export type { Socket, SocketEvents, Target, TlsOptions, Transport } from './connection/transport.js'
export { RejectedError, TenureError, type TenureErrorCode } from './errors.js'
export type { Settle } from './link/call.js'
export type { CallOptions, RequestOptions } from './link/limit.js'
export type { Link } from './link/link.js'
export { openLink } from './link/link.js'
export type { LinkOptions } from './link/options.js'
