import type { SimulatedClock } from '@tenure/testing'
import type { MachineClock } from './process.js'

/** A machine's own wall clock; the monotonic time is that of all machines. */
export class WallClock implements MachineClock {
  readonly #clock: SimulatedClock
  #aheadMs: number
  /** Since then it gains at the rate. */
  #fromMs: number
  #gain = 0

  constructor(clock: SimulatedClock, aheadMs: number) {
    this.#clock = clock
    this.#aheadMs = aheadMs
    this.#fromMs = clock.monotonicMs()
  }

  now(): number {
    return this.#clock.now() + Math.floor(this.#ahead())
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    return this.#clock.setTimer(delayMs, callback)
  }

  soon(callback: () => void): void {
    this.#clock.soon(callback)
  }

  jump(ms: number): void {
    this.#aheadMs += ms
  }

  /** 1.01 gains ten milliseconds per second. */
  drift(rate: number): void {
    this.#aheadMs = this.#ahead()
    this.#fromMs = this.#clock.monotonicMs()
    this.#gain = rate - 1
  }

  #ahead(): number {
    return this.#aheadMs + (this.#clock.monotonicMs() - this.#fromMs) * this.#gain
  }
}
