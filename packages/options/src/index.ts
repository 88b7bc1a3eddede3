export { Checks, describe, largestCount, longestMs, type Range } from './checks.js'
export {
  type Backoff,
  backoffOf,
  checkBackoff,
  checkRetryPolicy,
  defaultBackoffMaxMs,
  defaultRetryPolicy,
  type RetryPolicy,
  retryDelayMs,
  retryRanges,
} from './retry-policy.js'
