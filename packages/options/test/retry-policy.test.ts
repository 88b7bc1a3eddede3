import fc from 'fast-check'
import t from 'tap'
import {
  type Backoff,
  backoffOf,
  Checks,
  checkRetryPolicy,
  defaultRetryPolicy,
  longestMs,
  type RetryPolicy,
  retryDelayMs,
  retryRanges,
} from '../src/index.js'

const check = new Checks((message) => new RangeError(message))

const delay = fc.oneof(fc.nat(10_000), fc.maxSafeNat(), fc.constantFrom(...retryRanges.delayMs))
const backoff = fc
  .tuple(delay, fc.option(delay, { nil: undefined }))
  .map(([delayMs, maxMs]): Backoff => backoffOf(delayMs, maxMs))

/** Doubles step by step: a power of two overflows soon, and Infinity times 0 is NaN. */
function slowDelayMs(backoff: Backoff, failures: number): number {
  if (backoff.kind === 'fixed') return backoff.delayMs
  let delayMs = backoff.initialMs
  for (let n = 1; n < failures && delayMs > 0 && delayMs < backoff.maxMs; n++) delayMs *= 2
  return Math.min(delayMs, backoff.maxMs)
}

t.test('the delay equals step-by-step doubling after any number of failures', (t) => {
  const failures = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 2 ** 31 }))
  fc.assert(
    fc.property(backoff, failures, (backoff, failures) => {
      return retryDelayMs(backoff, failures) === slowDelayMs(backoff, failures)
    }),
  )
  t.end()
})

t.test('a delay doubles up to its maximum', (t) => {
  const delays = [1, 2, 3, 4, 5, 10_000].map((n) => retryDelayMs(backoffOf(100, 700), n))
  t.strictSame(delays, [100, 200, 400, 700, 700, 700])
  t.equal(retryDelayMs(backoffOf(0, longestMs), 10_000), 0)
  t.equal(retryDelayMs(backoffOf(5, 3), 1), 3)
  t.equal(retryDelayMs(backoffOf(5, undefined), 100), 5)
  t.end()
})

t.test('a valid policy is returned as a copy', (t) => {
  for (const policy of [
    defaultRetryPolicy,
    { maxRetries: 0, backoff: backoffOf(0, 0) },
    { maxRetries: 2 ** 31 - 1, backoff: backoffOf(2 ** 45, 2 ** 45) },
  ]) {
    const checked = checkRetryPolicy(check, 'x', policy)
    t.strictSame(checked, policy)
    t.not(checked, policy)
    t.not(checked.backoff, policy.backoff)
  }
  t.end()
})

t.test('an invalid policy is rejected with its path', (t) => {
  const fixed = { kind: 'fixed', delayMs: 1 }
  const doubling = { kind: 'exponential', initialMs: 1, maxMs: 1 }
  const bad: readonly [policy: unknown, path: string][] = [
    [null, 'x is null'],
    [{ maxRetries: -1, backoff: fixed }, 'x.maxRetries is -1'],
    [{ maxRetries: 2 ** 31, backoff: fixed }, 'x.maxRetries is 2147483648'],
    [{ backoff: fixed }, 'x.maxRetries is missing'],
    [{ maxRetries: 1 }, 'x.backoff is missing'],
    [{ maxRetries: 1, backoff: null }, 'x.backoff is null'],
    [{ maxRetries: 1, backoff: {} }, 'x.backoff.kind is missing'],
    [{ maxRetries: 1, backoff: { kind: 'linear' } }, 'x.backoff.kind is "linear"'],
    [{ maxRetries: 1, backoff: { kind: 'fixed' } }, 'x.backoff.delayMs is missing'],
    [{ maxRetries: 1, backoff: { ...fixed, delayMs: 2 ** 45 + 1 } }, 'x.backoff.delayMs is'],
    [{ maxRetries: 1, backoff: { ...fixed, maxMs: 1 } }, 'x.backoff.maxMs is not an option'],
    [{ maxRetries: 1, backoff: { ...doubling, initialMs: 0.5 } }, 'x.backoff.initialMs is 0.5'],
    [{ maxRetries: 1, backoff: { ...doubling, maxMs: -1 } }, 'x.backoff.maxMs is -1'],
    [{ maxRetries: 1, backoff: { ...doubling, delayMs: 1 } }, 'x.backoff.delayMs is not an option'],
    [{ maxRetries: 1, backoff: fixed, jitter: 1 }, 'x.jitter is not an option'],
  ]
  for (const [policy, path] of bad) {
    const act = () => checkRetryPolicy(check, 'x', policy as RetryPolicy)
    const message = new RegExp(`^${path.replaceAll('.', '\\.')}.*; it must be `)
    t.throws(act, { name: 'RangeError', message }, path)
  }
  t.end()
})
