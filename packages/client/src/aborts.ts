/**
 * One listener for each signal, however many calls run under it: Node warns of a leak from the
 * eleventh on.
 */
export class Aborts {
  readonly #callbacks = new Map<AbortSignal, Set<() => void>>()

  /** Calls back when the signal aborts, unless the returned function is called before. */
  on(signal: AbortSignal, callback: () => void): () => void {
    const callbacks = this.#callbacks.get(signal) ?? this.#listen(signal)
    callbacks.add(callback)
    return () => {
      callbacks.delete(callback)
      if (callbacks.size > 0 || this.#callbacks.get(signal) !== callbacks) return
      this.#callbacks.delete(signal)
      signal.removeEventListener('abort', this.#onAbort)
    }
  }

  #listen(signal: AbortSignal): Set<() => void> {
    const callbacks = new Set<() => void>()
    this.#callbacks.set(signal, callbacks)
    signal.addEventListener('abort', this.#onAbort, { once: true })
    return callbacks
  }

  readonly #onAbort = ({ target }: Event): void => {
    const signal = target as AbortSignal
    const callbacks = this.#callbacks.get(signal)
    this.#callbacks.delete(signal)
    for (const callback of callbacks ?? []) callback()
  }
}
