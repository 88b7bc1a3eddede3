import { performance } from 'node:perf_hooks'
/** The seam to time: code that ships reads no clock and sets no timer but through this. */
export interface Clock {
  /** Milliseconds since the epoch, as a whole number. */
  now(): number

  /** Milliseconds from an arbitrary start, never going back, with fractions: for durations. */
  monotonicMs(): number

  /**
   * Calls back once after the delay, unless cancelled. A process that has nothing else to do waits
   * for it, unless it is in the `background`.
   */
  setTimer(delayMs: number, callback: () => void, ground?: 'background'): Timer

  /** Calls back once, after the input that is ready now has been handled. */
  soon(callback: () => void): void
}

export interface Timer {
  cancel(): void
}

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
