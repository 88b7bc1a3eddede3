import { ByNumber } from '../by-number.js'

interface Waiting {
  readonly number: number
  readonly callback: () => void
}

/** Shares one listener per signal among all calls: Node warns of a leak above ten listeners. */
export class Aborts {
  readonly #waiting = new Map<AbortSignal, ByNumber<Waiting>>()
  #lastNumber = 0

  /** Calls back when the signal aborts, unless the returned function is called first. */
  on(signal: AbortSignal, callback: () => void): () => void {
    const waiting = this.#waiting.get(signal) ?? this.#listen(signal)
    this.#lastNumber = (this.#lastNumber + 1) >>> 0
    const number = this.#lastNumber
    waiting.set(number, { number, callback })
    return () => {
      waiting.delete(number)
      if (waiting.size > 0 || this.#waiting.get(signal) !== waiting) return
      this.#waiting.delete(signal)
      signal.removeEventListener('abort', this.#onAbort)
    }
  }

  #listen(signal: AbortSignal): ByNumber<Waiting> {
    const waiting = new ByNumber<Waiting>()
    this.#waiting.set(signal, waiting)
    signal.addEventListener('abort', this.#onAbort, { once: true })
    return waiting
  }

  readonly #onAbort = ({ target }: Event): void => {
    const signal = target as AbortSignal
    const waiting = this.#waiting.get(signal)
    this.#waiting.delete(signal)
    for (let first = waiting?.first(); first !== undefined; first = waiting?.first()) {
      waiting?.delete(first.number)
      first.callback()
    }
  }
}
