export { WorkerError, type WorkerErrorCode } from './errors.js'
export type {
  Handler,
  HandlerTask,
  LogFields,
  LogLevel,
  Outcome,
  TaskFacts,
  TaskLog,
  Work,
} from './handler.js'
export { type IsolationKind, isolations } from './isolation/choice.js'
export type { Isolation, Run, RunEvents } from './isolation/isolation.js'
export { LogThrottle } from './isolation/log-throttle.js'
export type {
  LossReason,
  UnreportedReason,
  WorkerMode,
  WorkerObserver,
} from './observe/observer.js'
export type { WorkerOptions } from './options.js'
export { startWorker, Worker } from './worker.js'
