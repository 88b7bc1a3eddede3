import { type Checks, largestCount, longestMs } from './checks.js'

/** Decides what happens to a task after a failed attempt. */
export interface RetryPolicy {
  /** Maximum number of reported failures after which the task returns to WAITING. */
  readonly maxRetries: number
  readonly backoff: Backoff
}

/** How long a task waits before its next attempt. */
export type Backoff =
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | { readonly kind: 'exponential'; readonly initialMs: number; readonly maxMs: number }

/** `delayMs` is the range for every delay. */
export const retryRanges = {
  maxRetries: [0, largestCount],
  delayMs: [0, longestMs],
} as const

/** Applies to tasks submitted without a policy, unless the operator configures another one. */
export const defaultRetryPolicy = {
  maxRetries: 3,
  backoff: { kind: 'fixed', delayMs: 5000 },
} as const satisfies RetryPolicy

/** Default maximum delay of an exponential backoff. */
export const defaultBackoffMaxMs = 3_600_000

/**
 * Exponential if `maxMs` is given, otherwise fixed. Logs and messages store a backoff as these two numbers.
 */
export function backoffOf(delayMs: number, maxMs: number | undefined): Backoff {
  if (maxMs === undefined) return { kind: 'fixed', delayMs }
  return { kind: 'exponential', initialMs: delayMs, maxMs }
}

/**
 * The delay after the given number of failures. It has no jitter, so that a replay computes the same delay.
 */
export function retryDelayMs(backoff: Backoff, failures: number): number {
  if (backoff.kind === 'fixed') return backoff.delayMs
  // 53 doublings exceed every safe integer, except from 0. More doublings could overflow to Infinity, and 0 ×
  // Infinity is NaN.
  return Math.min(backoff.maxMs, backoff.initialMs * 2 ** Math.min(failures - 1, 53))
}

/** Returns a copy, so that later changes by the caller have no effect. */
export function checkRetryPolicy(
  check: Checks<Error>,
  path: string,
  policy: RetryPolicy,
): RetryPolicy {
  check.names(path, policy, ['maxRetries', 'backoff'])
  const maxRetries = check.whole(`${path}.maxRetries`, policy.maxRetries, ...retryRanges.maxRetries)
  return { maxRetries, backoff: checkBackoff(check, `${path}.backoff`, policy.backoff) }
}

export function checkBackoff(check: Checks<Error>, path: string, backoff: Backoff): Backoff {
  check.object(path, backoff)
  check.oneOf(`${path}.kind`, backoff.kind, ['fixed', 'exponential'])
  const delay = (name: string, value: number) =>
    check.whole(`${path}.${name}`, value, ...retryRanges.delayMs)
  if (backoff.kind === 'fixed') {
    check.names(path, backoff, ['kind', 'delayMs'])
    return { kind: 'fixed', delayMs: delay('delayMs', backoff.delayMs) }
  }
  check.names(path, backoff, ['kind', 'initialMs', 'maxMs'])
  const initialMs = delay('initialMs', backoff.initialMs)
  return { kind: 'exponential', initialMs, maxMs: delay('maxMs', backoff.maxMs) }
}
