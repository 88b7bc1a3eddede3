/** The seam to time: nothing here reads a clock or sets a timer but through this. */
export interface Clock {
  /** Milliseconds from an arbitrary start, never going back, with fractions. */
  monotonicMs(): number
  /** Calls back once after the delay, unless cancelled. */
  setTimer(delayMs: number, callback: () => void): Timer
}

export interface Timer {
  cancel(): void
}
