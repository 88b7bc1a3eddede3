import type { Clock } from '@tenure/seams'

/**
 * `semantics` §1: the time of decisions. Anchored once, at the later of the wall clock and the latest
 * time found in the log, it runs on the monotonic clock from there: a wall clock that jumps moves
 * nothing, and no restart takes time back.
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

  /** Which time it was then, on the monotonic clock. */
  at(monotonicMs: number): number {
    return this.#anchorMs + Math.floor(monotonicMs - this.#anchoredAtMs)
  }

  /** How far ahead of the wall clock this time is. */
  get offsetMs(): number {
    return this.now() - this.#clock.now()
  }
}
