import { performance } from 'node:perf_hooks'
import type { Clock, Timer } from './clock.js'

/** The machine's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs: number, callback: () => void, ground?: 'background'): Timer {
    const timer = setTimeout(callback, delayMs)
    if (ground === 'background') timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
  soon: (callback: () => void) => {
    setImmediate(callback)
  },
}
