import type { HistoryPage, HistoryQuery, HistoryReader } from '../src/history/history-page.js'

/** A history reader that answers when the test says so. */
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

  /** The signal of the running read. */
  get signal(): AbortSignal {
    return this.#signal
  }

  /** The requested tasks. */
  asked(): number[] {
    return this.queries.map(({ taskId }) => taskId)
  }

  /** Resolves when the page has been delivered. */
  async give(page: HistoryPage): Promise<void> {
    this.#resolve(page)
    await handled()
  }

  async fail(error: Error): Promise<void> {
    this.#reject(error)
    await handled()
  }
}

/** A turn of the event loop, which runs the callbacks of settled promises. */
function handled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
