import { type Backoff, backoffOf, type RetryPolicy, retryDelayMs } from '@tenure/options'
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
  return { maxRetries: tasks.maxRetries.get(row), backoff: keptBackoff(tasks, row) }
}

/** How long the task waits after its n-th failure. */
export function backoffMs(tasks: TaskRows, row: number, failures: number): number {
  return retryDelayMs(keptBackoff(tasks, row), failures)
}

function keptBackoff(tasks: TaskRows, row: number): Backoff {
  const isExponential = tasks.exponential.get(row) !== 0
  return backoffOf(
    tasks.backoffMs.get(row),
    isExponential ? tasks.backoffMsMax.get(row) : undefined,
  )
}
