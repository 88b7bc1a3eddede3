import type { Clock } from '@tenure/wal'

/**
 * Keeps the event loop awake for a moment when an answer has left. Who sleeps in the kernel is woken late,
 * by a tenth of what a submission takes that is made alone. Only where requests follow so soon on answers:
 * a server that has little to do sleeps, and so does one whose clients need its processor to go on.
 */
export class Wakefulness {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'soon'>
  #answeredMs = Number.NEGATIVE_INFINITY
  #followsSoon = false
  #isAwake = false

  constructor(clock: Pick<Clock, 'monotonicMs' | 'soon'>) {
    this.#clock = clock
  }

  /** Something has arrived. */
  heard(): void {
    this.#followsSoon = this.#clock.monotonicMs() - this.#answeredMs <= awakeMs
  }

  /** An answer has left. */
  answered(): void {
    this.#answeredMs = this.#clock.monotonicMs()
    if (this.#isAwake || !this.#followsSoon) return
    this.#isAwake = true
    this.#clock.soon(this.#look)
  }

  /** The loop looks for input in each of its turns, and does not sleep while another one is asked for. */
  readonly #look = (): void => {
    this.#isAwake = this.#clock.monotonicMs() - this.#answeredMs <= awakeMs
    if (this.#isAwake) this.#clock.soon(this.#look)
  }
}

/** Longer than a client on the same machine takes for its next request. */
export const awakeMs = 0.1
