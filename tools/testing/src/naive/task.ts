import type { NaiveBackoff, NaiveRetryPolicy } from './record.js'

/**
 * A task in the shape in which it is returned. Fields that do not apply are absent, never `undefined`. Fields
 * are writable, since callers get copies.
 */
export interface NaiveTask {
  taskId: number
  queue: string
  state: 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD'
  attempt: number
  currentLeaseId: number | null
  workerId?: string
  leaseExpiry?: number
  payload?: Uint8Array
  executionWindowMs: number
  retryPolicy: NaiveRetryPolicy
  requestId?: string
  createdAt: number
  notBefore?: number
  stateSince: number
  eligibleAt?: number
  failures: number
  expiriesInARow: number
  endedLsn?: number
  result?: Uint8Array
  reason?: string
  attempts: readonly NaiveAttempt[]
}

export interface NaiveAttempt {
  attempt: number
  leaseId: number
  workerId: string
  grantedAt: number
  leaseExpiry: number
  outcome: 'OPEN' | 'COMPLETED' | 'FAILED' | 'EXPIRED' | 'DEAD'
  endedAt?: number
  reportId?: string
  cancelled: boolean
}

/** See `semantics.md` §6. */
export const naiveAttemptsKept = 32

export function isTerminal(task: NaiveTask): boolean {
  return task.state === 'COMPLETED' || task.state === 'FAILED' || task.state === 'DEAD'
}

/** When the task became eligible again after this failure; `undefined` if no retry was left. */
export function eligibleAfter(task: NaiveTask, failed: NaiveAttempt): number | undefined {
  const since = task.attempts.filter(({ leaseId }) => leaseId > failed.leaseId)
  const failures = task.failures - since.filter(({ outcome }) => outcome === 'FAILED').length
  if (failures > task.retryPolicy.maxRetries) return undefined
  return failed.endedAt! + backoffMs(task.retryPolicy.backoff, failures)
}

export function findAttempt(task: NaiveTask, leaseId: number | null): NaiveAttempt | undefined {
  return task.attempts.find((attempt) => attempt.leaseId === leaseId)
}

/** The attempt that owns a LEASED task. A task without one is a bug of the model. */
export function openAttempt(task: NaiveTask): NaiveAttempt {
  const open = findAttempt(task, task.currentLeaseId)
  if (open === undefined) throw new Error(`task ${task.taskId} has no open attempt`)
  return open
}

/**
 * The delay after the n-th failure. Doubles step by step, because a power of two soon becomes inexact, then
 * infinite, and infinity times 0 is NaN.
 */
export function backoffMs(backoff: NaiveBackoff, failures: number): number {
  if (backoff.kind === 'fixed') return backoff.delayMs
  let delayMs = backoff.initialMs
  for (let n = 1; n < failures && delayMs < backoff.maxMs; n++) delayMs = delayMs * 2
  return Math.min(delayMs, backoff.maxMs)
}
