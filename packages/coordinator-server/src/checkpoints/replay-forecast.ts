/**
 * Foresees what a restart would have to replay by the time a checkpoint can be ready, from how fast
 * that has grown and from how long the last checkpoint took.
 */
export class ReplayForecast {
  #seen: { readonly dueMs: number; readonly atMs: number } | undefined
  /** Milliseconds of replay that each millisecond brings. */
  #rate = 0
  #workMs: number | undefined

  /** Whether a checkpoint was made by which the next one can be judged. */
  get isFounded(): boolean {
    return this.#workMs !== undefined
  }

  /** To be told from time to time what a restart would have to replay now. */
  see(dueMs: number, atMs: number): void {
    if (this.#seen === undefined || dueMs < this.#seen.dueMs) {
      // Behind a new checkpoint less is due, which tells nothing of the rate.
      this.#seen = { dueMs, atMs }
      return
    }
    const passedMs = atMs - this.#seen.atMs
    if (passedMs < leastSampleMs) return
    this.#rate = (dueMs - this.#seen.dueMs) / passedMs
    this.#seen = { dueMs, atMs }
  }

  /** A checkpoint took so long from its last beginning. */
  learn(workMs: number): void {
    this.#workMs = workMs
  }

  /** What will be due, given what is now, when a checkpoint is ready that makes haste from the next look on. */
  dueWhenMadeMs(dueMs: number): number {
    return dueMs + this.#rate * (twoLooksMs + (this.#workMs ?? 0) * workMargin)
  }
}

/** In less, a single batch would make a rate. */
const leastSampleMs = 500
/** How long it may be until it is seen that haste is needed, and then that the background gives no time. */
const twoLooksMs = 2000
/** The next checkpoint may hold more, and have more beside it. */
const workMargin = 2
