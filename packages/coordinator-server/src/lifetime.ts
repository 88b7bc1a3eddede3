/**
 * The order of startup and shutdown. Each component that is opened defers its close; `end` closes them in
 * reverse order, once each, even if some fail.
 */
export class Lifetime {
  /** Resolves at the end with the error that ended the server, or `undefined`. */
  readonly ended: Promise<unknown>
  readonly #closers: (() => unknown)[] = []
  readonly #onFailure: ((error: unknown) => void)[] = []
  #settle: (failure: unknown) => void = () => {}
  #hasStarted = false
  #failure: unknown
  #ending: Promise<void> | undefined

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#settle = resolve
    })
  }

  /** The first failure, if any. */
  get failure(): unknown {
    return this.#failure
  }

  defer(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Registers a callback for a failure, called before the end; the last one registered runs first. */
  onFailure(callback: (error: unknown) => void): void {
    this.#onFailure.push(callback)
  }

  /** Marks startup as complete. Throws an earlier failure; a later failure ends the server. */
  started(): void {
    if (this.#failure !== undefined) throw this.#failure
    this.#hasStarted = true
  }

  fail(error: unknown): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    for (const callback of this.#onFailure.toReversed()) callback(error)
    if (this.#hasStarted) void this.end()
  }

  /** Never rejects; `failure` and `ended` report errors. */
  end(): Promise<void> {
    this.#ending ??= this.#close()
    return this.#ending
  }

  async #close(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close()
      } catch (error) {
        this.#failure ??= error
      }
    }
    this.#settle(this.#failure)
  }
}
