export type {
  Answer,
  AnswerKind,
  Cancelled,
  CheckpointMade,
  Committed,
  Empty,
  Extended,
  Facts,
  HistoryFound,
  HistoryRecord,
  Killed,
  Leased,
  LeaseTerms,
  Opening,
  Pong,
  Rejected,
  StatsFound,
  Submitted,
  TaskFound,
  TasksFound,
  WhyFound,
  Withdrawn,
  WorkersFound,
} from './answer.js'
export { decodeAnswer, encodeAnswer } from './answer-codec.js'
export { ClientConnection, type Reply } from './client-connection.js'
export { ProtocolError, type ProtocolErrorCode } from './errors.js'
export { FrameDecoder, frameHeadBytes } from './frame.js'
export { checkStructure, type StructureLimits } from './guard.js'
export {
  decodeHello,
  decodeWelcome,
  encodeHello,
  encodeWelcome,
  type Hello,
  type Limits,
  type OtherVersion,
  type Refusal,
  type Role,
  roles,
  type Welcome,
} from './handshake.js'
export { messageLimits, protocolVersion } from './limits.js'
export { passingReasons, type Reason, reasons } from './reasons.js'
export {
  type Checkpoint,
  type Complete,
  type Fail,
  type Get,
  type Heartbeat,
  type History,
  type HistoryPlace,
  isPoll,
  type Kill,
  type Lease,
  type List,
  type NewRequest,
  type Ping,
  type Request,
  type RequestKind,
  type RequestOf,
  type Stats,
  type Submit,
  type TaskState,
  taskStates,
  type Why,
  type WireRetryPolicy,
  type Withdraw,
  type Workers,
} from './request.js'
export { decodeRequest, encodeRequest, type MalformedRequest } from './request-codec.js'
export { type Arrival, type ConnectionLimits, ServerConnection } from './server-connection.js'
