import type { NaiveBackoff } from './record.js'

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
