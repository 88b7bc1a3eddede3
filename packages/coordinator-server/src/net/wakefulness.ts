import type { Clock } from '@tenure/seams'

/**
 * Keeps the event loop awake for a moment when the only one who asks has been answered. Who sleeps in the
 * kernel is woken late, by a tenth of what a submission takes that is made alone. Only where the next
 * request came from the same connection, and soon: what several ask is better taken together, a server
 * that has little to do sleeps, and so does one whose client needs its processor to go on.
 */
export class Wakefulness {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'soon'>
  /** Who was heard or answered last. */
  #last: object | undefined
  #answeredMs = Number.NEGATIVE_INFINITY
  /** Whether the last one asked alone, and soon. */
  #isAlone = false
  #isAwake = false

  constructor(clock: Pick<Clock, 'monotonicMs' | 'soon'>) {
    this.#clock = clock
  }

  /** Something has arrived from this connection. */
  heard(connection: object): void {
    const isSame = connection === this.#last
    this.#last = connection
    this.#isAlone = isSame && this.#clock.monotonicMs() - this.#answeredMs <= awakeMs
  }

  /** Something has left for this connection. */
  answered(connection: object): void {
    this.#isAlone &&= connection === this.#last
    this.#last = connection
    this.#answeredMs = this.#clock.monotonicMs()
    if (this.#isAwake || !this.#isAlone) return
    this.#isAwake = true
    this.#clock.soon(this.#look)
  }

  /** The loop looks for input in each of its turns, and does not sleep while another one is asked for. */
  readonly #look = (): void => {
    this.#isAwake = this.#isAlone && this.#clock.monotonicMs() - this.#answeredMs <= awakeMs
    if (this.#isAwake) this.#clock.soon(this.#look)
  }
}

/** Longer than a client on the same machine takes for its next request. */
export const awakeMs = 0.1
