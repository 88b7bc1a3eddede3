import type { Clock } from '@tenure/seams'

/** The clock that decisions use. */
export interface DecisionClock {
  now(): number
  /** The decision time at a reading of the monotonic clock. */
  at(monotonicMs: number): number
  /** How far decision time is ahead of the wall clock. */
  readonly offsetMs: number
}

/**
 * `semantics` §1: the clock that decisions use. It starts at the wall clock or the latest time in the log,
 * whichever is later, and then follows the monotonic clock. Wall-clock jumps have no effect, and time never
 * goes back across restarts.
 */
export class DecisionTime implements DecisionClock {
  readonly #clock: Clock
  readonly #anchorMs: number
  readonly #anchoredAtMs: number

  constructor(clock: Clock, latestKnownMs: number) {
    this.#clock = clock
    this.#anchorMs = Math.max(clock.now(), latestKnownMs)
    this.#anchoredAtMs = clock.monotonicMs()
  }

  now(): number {
    return this.at(this.#clock.monotonicMs())
  }

  at(monotonicMs: number): number {
    return this.#anchorMs + Math.floor(monotonicMs - this.#anchoredAtMs)
  }

  get offsetMs(): number {
    return this.now() - this.#clock.now()
  }
}
