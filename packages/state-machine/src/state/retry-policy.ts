import type { Backoff, RetryPolicy } from '../record.js'
import type { TaskRows } from '../store/task-rows.js'

export function keepRetryPolicy(tasks: TaskRows, row: number, policy: RetryPolicy): void {
  const { maxRetries, backoff } = policy
  tasks.maxRetries.set(row, maxRetries)
  if (backoff.kind === 'fixed') {
    tasks.backoffMs.set(row, backoff.delayMs)
  } else {
    tasks.exponential.set(row, 1)
    tasks.backoffMs.set(row, backoff.initialMs)
    tasks.backoffMsMax.set(row, backoff.maxMs)
  }
}

export function retryPolicyOf(tasks: TaskRows, row: number): RetryPolicy {
  return { maxRetries: tasks.maxRetries.get(row), backoff: backoffOf(tasks, row) }
}

/** How long the task waits after its n-th report of failure. No jitter: what replays is computable. */
export function backoffMs(tasks: TaskRows, row: number, failures: number): number {
  const first = tasks.backoffMs.get(row)
  if (tasks.exponential.get(row) === 0) return first
  return doubled(first, tasks.backoffMsMax.get(row), failures)
}

/** The same for a policy that no task has. */
export function retryDelayMs(backoff: Backoff, failures: number): number {
  if (backoff.kind === 'fixed') return backoff.delayMs
  return doubled(backoff.initialMs, backoff.maxMs, failures)
}

function doubled(first: number, most: number, failures: number): number {
  // Past 2^52 every delay but 0 is longer than the longest; more doublings would only lose exactness.
  return Math.min(most, first * 2 ** Math.min(failures - 1, 52))
}

function backoffOf(tasks: TaskRows, row: number): Backoff {
  const first = tasks.backoffMs.get(row)
  if (tasks.exponential.get(row) === 0) return { kind: 'fixed', delayMs: first }
  return { kind: 'exponential', initialMs: first, maxMs: tasks.backoffMsMax.get(row) }
}
