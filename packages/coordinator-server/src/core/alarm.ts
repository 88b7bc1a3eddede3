import type { Clock, Timer } from '@tenure/seams'
import type { DecisionTime } from '../decide/decision-time.js'

/** Timers of Node count in 31 bits. Ringing too early does no harm: who is rung looks at the time. */
const longestMs = 24 * 3600 * 1000

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
