import type { WorkerError } from '../errors.js'

/**
 * Creates its abort signal on first use. Most handlers never read it, and creating it is the most expensive
 * part of a short task.
 */
export class LazyAbort {
  #controller: AbortController | undefined
  #reason: WorkerError | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: WorkerError): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
  }
}
