export { ClientConnection, type Reply } from './connections/client-connection.js'
export {
  type Arrival,
  type ConnectionLimits,
  ServerConnection,
} from './connections/server-connection.js'
export { ProtocolError, type ProtocolErrorCode } from './errors.js'
export { messageLimits, protocolVersion } from './limits.js'
export type {
  Answer,
  AnswerKind,
  Cancelled,
  CheckpointMade,
  Committed,
  Empty,
  Extended,
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
} from './messages/answer.js'
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
} from './messages/handshake.js'
export {
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  type MalformedRequest,
} from './messages/message-codec.js'
export { type Reason, reasons, transientReasons } from './messages/reasons.js'
export {
  type Checkpoint,
  type Complete,
  type Fail,
  type Get,
  type Heartbeat,
  type History,
  type HistoryCursor,
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
  type Withdraw,
  type Workers,
} from './messages/request.js'
export type { Facts } from './wire/fields.js'
export { FrameDecoder } from './wire/frame.js'
