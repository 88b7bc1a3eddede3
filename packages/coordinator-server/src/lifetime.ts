/**
 * From the first thing that was opened to the last one that is closed. What opens something defers its
 * closing; the end closes in the reverse order, each once, whatever becomes of the others.
 */
export class Lifetime {
  /** Settles at the end: with `undefined`, or with what has failed. */
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

  /** What failed first, if something has. */
  get failure(): unknown {
    return this.#failure
  }

  defer(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Calls back at a failure, before the end; the last one added comes first. */
  onFailure(callback: (error: unknown) => void): void {
    this.#onFailure.push(callback)
  }

  /** Everything is open. Throws what has failed meanwhile; from now on a failure is the end. */
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

  /** Never rejects: `failure` and `ended` tell what went wrong. */
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
