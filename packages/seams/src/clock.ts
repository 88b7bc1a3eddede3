import { performance } from 'node:perf_hooks'
/** The seam for time. Shipped code reads the clock and sets timers only through this. */
export interface Clock {
  /** Whole milliseconds since the epoch. */
  now(): number

  /** Milliseconds since an arbitrary start, with fractions. Never goes back: use it for durations. */
  monotonicMs(): number

  /**
   * Calls back once after the delay, unless cancelled. The timer keeps the process alive, except a
   * `background` one.
   */
  setTimer(delayMs: number, callback: () => void, ground?: 'background'): Timer

  /** Calls back once, after the event loop has handled the input that is ready now. */
  soon(callback: () => void): void
}

export interface Timer {
  cancel(): void
}

/** Node fires a timer with a longer delay immediately. It is about 24 days. */
const timerMsMax = 2 ** 31 - 1

/** The system's clock and timers. Delays are capped at about 24 days. */
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
