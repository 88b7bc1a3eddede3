import type { Clock, DecisionTime, Timer } from './decision-time.js'

/** The one timer of the core loop: it goes off at the earliest of the times it was set for. */
export class Alarm {
  readonly #clock: Clock
  readonly #time: DecisionTime
  readonly #onRing: () => void
  #set: { readonly at: number; readonly timer: Timer } | undefined

  constructor(clock: Clock, time: DecisionTime, onRing: () => void) {
    this.#clock = clock
    this.#time = time
    this.#onRing = onRing
  }

  /** `undefined` asks for nothing. A time that has passed rings as soon as it can. */
  setFor(at: number | undefined): void {
    if (at === undefined || (this.#set !== undefined && this.#set.at <= at)) return
    this.cancel()
    const timer = this.#clock.setTimer(Math.max(0, at - this.#time.now()), () => {
      this.#set = undefined
      this.#onRing()
    })
    this.#set = { at, timer }
  }

  cancel(): void {
    this.#set?.timer.cancel()
    this.#set = undefined
  }
}
