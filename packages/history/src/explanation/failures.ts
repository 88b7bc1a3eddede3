import { type RetryPolicy, retryDelayMs } from '@tenure/options'
import type { TaskHistory } from '../task/task-history.js'
import type { KnownAttempt } from './known-attempts.js'

/** Numbers the failures. The n-th failure decides what comes after it. */
export function numberFailures(
  history: TaskHistory,
  attempts: readonly KnownAttempt[],
  policy: RetryPolicy | undefined,
): KnownAttempt[] {
  let failures = failuresBefore(history, attempts)
  return attempts.map((attempt) => {
    if (attempt.end?.outcome !== 'FAILED' || failures === undefined) return attempt
    failures++
    if (policy === undefined) return attempt
    const end = { ...attempt.end, failures }
    if (failures > policy.maxRetries) return { ...attempt, end }
    const backoffMs = retryDelayMs(policy.backoff, failures)
    return { ...attempt, end: { ...end, backoffMs, eligibleAt: end.at + backoffMs } }
  })
}

/** How many failures precede all known attempts. The memory may be from any moment. */
function failuresBefore(
  { remembered, taskId, firstLsn }: TaskHistory,
  attempts: readonly KnownAttempt[],
): number | undefined {
  if (firstLsn <= taskId) return 0
  if (remembered === undefined) return undefined
  const newest = remembered.attempts.at(-1)
  const isCounted = ({ leaseId, end }: KnownAttempt) =>
    end?.outcome === 'FAILED' &&
    newest !== undefined &&
    (leaseId < newest.leaseId || (leaseId === newest.leaseId && newest.outcome === 'FAILED'))
  return remembered.failures - attempts.filter(isCounted).length
}
