import type { Clock, Timer } from '@tenure/seams'
import type { DecisionClock } from '../decide/decision-time.js'

/** Node's timers count in 31 bits. Firing early is harmless: the handler re-checks the time. */
const longestMs = 24 * 3600 * 1000

/** The core loop's single timer; it fires at the earliest requested time. */
export class Alarm {
  readonly #clock: Clock
  readonly #time: DecisionClock
  readonly #onRing: () => void
  #set: { readonly at: number; readonly timer: Timer } | undefined

  constructor(clock: Clock, time: DecisionClock, onRing: () => void) {
    this.#clock = clock
    this.#time = time
    this.#onRing = onRing
  }

  /** `undefined` changes nothing. A time in the past fires as soon as possible. */
  setFor(at: number | undefined): void {
    if (at === undefined || (this.#set !== undefined && this.#set.at <= at)) return
    this.cancel()
    const delayMs = Math.min(longestMs, Math.max(0, at - this.#time.now()))
    const timer = this.#clock.setTimer(delayMs, () => {
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
