/**
 * Runs a job for each item and yields the outcomes in input order. At most `window` jobs are running or
 * finished but not yet consumed, so memory stays bounded: a slow consumer pauses the source.
 *
 * Reading continues while the consumer works, so the window stays full.
 */
export class Pipeline<Item, Outcome> {
  readonly #source: Iterator<Item> | AsyncIterator<Item>
  readonly #window: number
  readonly #start: (item: Item, index: number) => Promise<Outcome>
  #outcomes: Promise<Outcome>[] = []
  #taken = 0
  #started = 0
  #mode: 'reading' | 'ended' | 'stopped' = 'reading'
  #failure: { readonly error: unknown } | undefined
  #wakeReader: (() => void) | undefined
  #wakeConsumer: (() => void) | undefined

  /** `start` must not reject. */
  constructor(
    items: Iterable<Item> | AsyncIterable<Item>,
    window: number,
    start: (item: Item, index: number) => Promise<Outcome>,
  ) {
    this.#source =
      Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
    this.#window = window
    this.#start = start
  }

  async *outcomes(): AsyncGenerator<Outcome, void, undefined> {
    const reading = this.#read()
    try {
      for (;;) {
        const next = this.#outcomes[0]
        if (next !== undefined) {
          const outcome = await next
          this.#outcomes.shift()
          this.#taken++
          this.#wakeReader?.()
          yield outcome
        } else if (this.#mode === 'reading') {
          await new Promise<void>((resolve) => {
            this.#wakeConsumer = resolve
          })
        } else break
      }
      if (this.#failure !== undefined) throw this.#failure.error
      await reading
    } finally {
      this.stop()
    }
  }

  /** Stops reading. Outcomes of started jobs are still yielded, and then the error is thrown. */
  stop(error?: unknown): void {
    if (this.#mode !== 'reading') return
    this.#mode = 'stopped'
    if (error !== undefined) this.#failure = { error }
    this.#wakeReader?.()
    this.#wakeConsumer?.()
    void this.#endSource()
  }

  /** Not awaited: a source in the middle of an operation may never return. */
  async #endSource(): Promise<void> {
    try {
      await this.#source.return?.()
    } catch {
      // The reason for stopping is already known; an error of the source does not change it.
    }
  }

  async #read(): Promise<void> {
    try {
      while (this.#mode === 'reading') {
        if (this.#started - this.#taken >= this.#window) {
          await new Promise<void>((resolve) => {
            this.#wakeReader = resolve
          })
          continue
        }
        const { done, value } = await this.#source.next()
        if ((this.#mode as string) !== 'reading') return
        if (done) break
        this.#outcomes.push(this.#start(value, this.#started++))
        this.#wakeConsumer?.()
      }
    } catch (error) {
      this.#failure ??= { error }
    }
    if (this.#mode === 'reading') this.#mode = 'ended'
    this.#wakeConsumer?.()
  }
}
