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
