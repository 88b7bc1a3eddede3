export type { NewRequest } from '@tenure/protocol'
export type { Backoff } from './backoff.js'
export type { Settle } from './call.js'
export type { Clock, Timer } from './clock.js'
export { parseEndpoint } from './endpoint.js'
export { RejectedError, TenureError, type TenureErrorCode } from './errors.js'
export type {
  Attempt,
  CheckpointInfo,
  Counters,
  QueueLine,
  RetryPolicy,
  Stats,
  Task,
  TaskState,
  TaskSummary,
  Why,
  WorkerInfo,
  WorkersInfo,
} from './facts.js'
export type {
  HistoryOptions,
  HistoryProgress,
  HistoryRecord,
  Opening,
  TaskHistory,
} from './history.js'
export type { CallOptions } from './limit.js'
export type { Link } from './link.js'
export type { FailedAttempt, LinkObserver } from './link-observer.js'
export type { ListOptions } from './list.js'
export { nodeTransport } from './node-transport.js'
export { openLink } from './open-link.js'
export type { LinkOptions } from './options.js'
export type { Random } from './random.js'
export type { RequestOptions } from './request-options.js'
export {
  decodeJson,
  encodeJson,
  type Submission,
  type SubmitOptions,
  type TaskOptions,
} from './submission.js'
export type { Submitted } from './submit.js'
export type { SubmitManyOptions, SubmitOutcome } from './submit-many.js'
export { systemClock } from './system-clock.js'
export { systemRandom } from './system-random.js'
export { connect, Tenure } from './tenure.js'
export type { Socket, SocketEvents, Target, TlsOptions, Transport } from './transport.js'
export type { WaitOptions } from './wait-for.js'
