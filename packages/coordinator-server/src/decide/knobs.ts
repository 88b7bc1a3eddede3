import { defaultRetryPolicy, type RetryPolicy } from '@tenure/options'

/** What an operator decides about decisions. */
export interface Knobs {
  readonly leaseDurationMs: number
  readonly heartbeatIntervalMs: number
  /** For a task that is submitted without its own. */
  readonly executionWindowMs: number
  /** For a task that is submitted without its own. */
  readonly retryPolicy: RetryPolicy
  /** Leases that expire in a row before the task is stopped; 0 is never. */
  readonly poisonThreshold: number
  readonly payloadBytesMax: number
  readonly resultBytesMax: number
  readonly waitingTasksMax: number
  /**
   * Payloads, results, reasons and ids of all tasks that are remembered, those that have ended
   * included, and 512 bytes for each queue: it bounds the memory that they take.
   */
  readonly tasksBytesMax: number
  /** How long ended tasks are remembered, */
  readonly retentionMs: number
  /** and how many of them at most. */
  readonly retentionTasks: number
  /** The longest that a lease request may wait for a task. */
  readonly waitMsMax: number
}

export const defaultKnobs: Knobs = {
  leaseDurationMs: 30_000,
  heartbeatIntervalMs: 10_000,
  executionWindowMs: 3_600_000,
  retryPolicy: defaultRetryPolicy,
  poisonThreshold: 20,
  payloadBytesMax: 256 * 1024,
  resultBytesMax: 64 * 1024,
  waitingTasksMax: 5_000_000,
  tasksBytesMax: 2 * 2 ** 30,
  retentionMs: 3_600_000,
  retentionTasks: 1_000_000,
  waitMsMax: 60_000,
}
