import { performance } from 'node:perf_hooks'
import type { Clock } from './clock.js'

/** Timers of Node count no further, and fire at once beyond it. It is 24 days. */
const timerMsMax = 2 ** 31 - 1

/** The machine's own clock and timers. A delay of more than 24 days is one of 24 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, callback, ground) {
    const timer = setTimeout(callback, Math.min(delayMs, timerMsMax))
    if (ground === 'background') timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
  soon: (callback) => {
    setImmediate(callback)
  },
}
