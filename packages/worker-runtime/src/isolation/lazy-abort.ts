import type { WorkerError } from '../errors.js'

/**
 * An abort signal that is made when somebody looks at it: most handlers never do, and it is the
 * dearest thing about a short one.
 */
export class LateAbort {
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
