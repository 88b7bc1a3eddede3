import { performance } from 'node:perf_hooks'
import type { Clock } from './clock.js'

/** Timers of Node count no further, and fire at once beyond it. It is 24 days. */
const timerMsMax = 2 ** 31 - 1

/** The machine's own clock and timers. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, timerMsMax))
    return { cancel: () => clearTimeout(timer) }
  },
}
