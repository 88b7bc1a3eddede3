import type { NaiveBackoff, NaiveRetryPolicy } from './record.js'

/**
 * A task, in the very shape in which it is shown: the model keeps nothing beside it. A field that
 * does not apply is absent, never `undefined`. The fields can be written to, since whoever asks
 * for a task gets a copy.
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

/** `semantics.md` §6. */
export const naiveAttemptsKept = 32

export function isTerminal(task: NaiveTask): boolean {
  return task.state === 'COMPLETED' || task.state === 'FAILED' || task.state === 'DEAD'
}

/** When the task was eligible again after this report of failure; `undefined` where no retry was left. */
export function eligibleAfter(task: NaiveTask, failed: NaiveAttempt): number | undefined {
  const since = task.attempts.filter(({ leaseId }) => leaseId > failed.leaseId)
  const failures = task.failures - since.filter(({ outcome }) => outcome === 'FAILED').length
  if (failures > task.retryPolicy.maxRetries) return undefined
  return failed.endedAt! + backoffMs(task.retryPolicy.backoff, failures)
}

export function findAttempt(task: NaiveTask, leaseId: number | null): NaiveAttempt | undefined {
  return task.attempts.find((attempt) => attempt.leaseId === leaseId)
}

/** The attempt that owns a LEASED task. A task without one is a bug of the model itself. */
export function openAttempt(task: NaiveTask): NaiveAttempt {
  const open = findAttempt(task, task.currentLeaseId)
  if (open === undefined) throw new Error(`task ${task.taskId} has no open attempt`)
  return open
}

/**
 * How long a task waits after its n-th report of failure. Doubled step by step, because a power of
 * two is soon inexact, then infinite, and infinitely many times nothing is not a number.
 */
export function backoffMs(backoff: NaiveBackoff, failures: number): number {
  if (backoff.kind === 'fixed') return backoff.delayMs
  let delayMs = backoff.initialMs
  for (let n = 1; n < failures && delayMs < backoff.maxMs; n++) delayMs = delayMs * 2
  return Math.min(delayMs, backoff.maxMs)
}
