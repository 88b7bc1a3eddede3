import type { Clock, Timer } from '@tenure/client'

/** Something that has to be done at its time. */
export interface Timed {
  /** `Infinity`: nothing. */
  readonly dueAtMs: number
  onDue(): void
}

/**
 * One timer for all that run. Most end long before anything is due, and setting a timer for each would
 * cost more than running it: so nothing is done for one that ends, and the timer may ring for nobody.
 */
export class Watch {
  readonly #clock: Clock
  readonly #all: readonly Timed[]
  #ringsAtMs = Number.POSITIVE_INFINITY
  #timer: Timer | undefined

  constructor(clock: Clock, all: readonly Timed[]) {
    this.#clock = clock
    this.#all = all
  }

  /** To be told of each time that may come before those known so far. */
  expect(atMs: number): void {
    if (atMs >= this.#ringsAtMs) return
    this.#timer?.cancel()
    this.#ringsAtMs = atMs
    const delayMs = Math.max(0, atMs - this.#clock.monotonicMs())
    this.#timer = this.#clock.setTimer(delayMs, () => this.#ring())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #ring(): void {
    this.#ringsAtMs = Number.POSITIVE_INFINITY
    // A copy: what is done may end one of them.
    for (const one of [...this.#all]) {
      if (one.dueAtMs <= this.#clock.monotonicMs()) one.onDue()
    }
    this.expect(Math.min(...this.#all.map(({ dueAtMs }) => dueAtMs)))
  }
}
