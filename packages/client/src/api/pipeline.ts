/**
 * Runs a job for each item and gives the outcomes in the order of the items, while no more than
 * `window` of them are running or waiting to be taken. So neither a source without an end nor a
 * consumer that dawdles makes anything grow: whoever does not take outcomes stops the reading.
 *
 * Reading goes on beside the consumer's own work, so the window stays full.
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

  /** No more is read; what is running is given out still, and then the error thrown. */
  stop(error?: unknown): void {
    if (this.#mode !== 'reading') return
    this.#mode = 'stopped'
    if (error !== undefined) this.#failure = { error }
    this.#wakeReader?.()
    this.#wakeConsumer?.()
    void this.#endSource()
  }

  /** Nobody waits for it: a source that is in the middle of something may take for ever. */
  async #endSource(): Promise<void> {
    try {
      await this.#source.return?.()
    } catch {
      // Why the reading ends is known already; what the source says of it changes nothing.
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
