import type { Clock } from '@tenure/seams'

/**
 * `semantics` §1: the clock that decisions use. It starts at the wall clock or the latest time in the log,
 * whichever is later, and then follows the monotonic clock. Wall-clock jumps have no effect, and time never
 * goes back across restarts.
 */
export class DecisionTime {
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

  /** The decision time at a reading of the monotonic clock. */
  at(monotonicMs: number): number {
    return this.#anchorMs + Math.floor(monotonicMs - this.#anchoredAtMs)
  }

  /** How far decision time is ahead of the wall clock. */
  get offsetMs(): number {
    return this.now() - this.#clock.now()
  }
}
