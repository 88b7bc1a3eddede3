import type { HistoryPage, HistoryQuery, HistoryReader } from '../src/history/history-page.js'

/** A reader that says nothing before the test wants it to. */
export class ScriptedReader implements HistoryReader {
  readonly queries: HistoryQuery[] = []
  #signal = new AbortController().signal
  #resolve: (page: HistoryPage) => void = () => {}
  #reject: (error: Error) => void = () => {}

  read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    this.queries.push(query)
    this.#signal = signal
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The signal of what is being read. */
  get signal(): AbortSignal {
    return this.#signal
  }

  /** The tasks that were asked about. */
  asked(): number[] {
    return this.queries.map(({ taskId }) => taskId)
  }

  /** Settles when whoever waited for the page has it. */
  async give(page: HistoryPage): Promise<void> {
    this.#resolve(page)
    await handled()
  }

  async fail(error: Error): Promise<void> {
    this.#reject(error)
    await handled()
  }
}

/** A turn of the event loop: what follows from a promise has happened behind it. */
function handled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
