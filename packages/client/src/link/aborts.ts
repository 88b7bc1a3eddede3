import { IdMap } from '../id-map.js'

interface Waiting {
  readonly id: number
  readonly callback: () => void
}

/** Shares one listener per signal among all calls: Node warns of a leak above ten listeners. */
export class Aborts {
  readonly #waiting = new Map<AbortSignal, IdMap<Waiting>>()
  #lastId = 0

  /** Calls back when the signal aborts, unless the returned function is called first. */
  on(signal: AbortSignal, callback: () => void): () => void {
    const waiting = this.#waiting.get(signal) ?? this.#listen(signal)
    this.#lastId = (this.#lastId + 1) >>> 0
    const id = this.#lastId
    waiting.set(id, { id, callback })
    return () => {
      waiting.delete(id)
      if (waiting.size > 0 || this.#waiting.get(signal) !== waiting) return
      this.#waiting.delete(signal)
      signal.removeEventListener('abort', this.#onAbort)
    }
  }

  #listen(signal: AbortSignal): IdMap<Waiting> {
    const waiting = new IdMap<Waiting>()
    this.#waiting.set(signal, waiting)
    signal.addEventListener('abort', this.#onAbort, { once: true })
    return waiting
  }

  readonly #onAbort = ({ target }: Event): void => {
    const signal = target as AbortSignal
    const waiting = this.#waiting.get(signal)
    this.#waiting.delete(signal)
    for (let first = waiting?.first(); first !== undefined; first = waiting?.first()) {
      waiting?.delete(first.id)
      first.callback()
    }
  }
}
