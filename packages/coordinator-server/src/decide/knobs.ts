import { defaultRetryPolicy, type RetryPolicy } from '@tenure/options'

/** Operator settings that affect decisions. */
export interface Knobs {
  readonly leaseDurationMs: number
  readonly heartbeatIntervalMs: number
  /** Default for tasks submitted without an execution window. */
  readonly executionWindowMs: number
  /** Default for tasks submitted without a retry policy. */
  readonly retryPolicy: RetryPolicy
  /** Stop a task after this many consecutive lease expiries; 0 disables. */
  readonly poisonThreshold: number
  readonly payloadBytesMax: number
  readonly resultBytesMax: number
  readonly waitingTasksMax: number
  /**
   * Memory limit for tasks: payloads, results, reasons and ids of all tasks, ended ones included, and 512
   * bytes per queue.
   */
  readonly tasksBytesMax: number
  /** How long to remember ended tasks. */
  readonly retentionMs: number
  /** Maximum number of ended tasks to remember. */
  readonly retentionTasks: number
  /** Maximum time that a lease request may wait for a task. */
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
