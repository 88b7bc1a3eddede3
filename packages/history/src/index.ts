export {
  type CheckedCheckpoint,
  type HistoryVerification,
  type VerifyHistoryOptions,
  verifyHistory,
} from './check/verify.js'
export { HistoryError, type HistoryErrorCode } from './errors.js'
export { explainTask } from './explanation/explain-task.js'
export type {
  Cause,
  CauseKind,
  Duplicate,
  ExplainedAttempt,
  ExplainedEnd,
  ExplainedEvent,
  ExplainOptions,
  Explanation,
  Heartbeats,
  LateReport,
  Overlap,
  Removed,
} from './explanation/explanation.js'
export { type Entry, keep } from './follow/entry.js'
export { History, openHistory, type Span } from './follow/history.js'
export type { LogSource, LsnRange, Opening, RecordRange } from './follow/log-source.js'
export type { Position } from './follow/position.js'
export type { ReplayOptions } from './follow/replay.js'
export type { RememberedAttempt, RememberedTask } from './task/remembered.js'
export {
  readTaskHistory,
  type TaskHistory,
  type TaskHistoryOptions,
  type TaskOpening,
} from './task/task-history.js'
export type { Change, ChangeCause, Course, Difference } from './what-if/changes.js'
export type { Forecast, ForecastOptions } from './what-if/forecast.js'
export { type Entries, forecast } from './what-if/forecaster.js'
export type { WhatIfKnobs } from './what-if/knobs.js'
export type { Spread } from './what-if/spread.js'
export type { Outcomes, TaskEnd } from './what-if/task-scenario.js'
