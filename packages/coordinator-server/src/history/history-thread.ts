import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '@tenure/seams'
import { CoordinatorError } from '../errors.js'
import type { HistoryPage, HistoryQuery, HistoryReader } from './history-page.js'

export type ToHistoryThread =
  | { readonly kind: 'read'; readonly query: HistoryQuery }
  | { readonly kind: 'abort' }

export type FromHistoryThread =
  | { readonly kind: 'page'; readonly page: HistoryPage }
  | { readonly kind: 'failed'; readonly why: string }

/** Nobody has asked for so long: the thread ends, and the next who asks starts another one. */
const idleMsDefault = 30_000

/**
 * Reads the log in a thread of its own: a page of history is a second of reading and decoding, which
 * the loop does not have. The thread is there while somebody asks, and shortly after.
 */
export class HistoryThread implements HistoryReader {
  readonly #dataDir: string
  readonly #clock: Clock
  readonly #idleMs: number
  #worker: Worker | undefined
  #idle: Timer | undefined
  #settle: ((outcome: HistoryPage | Error) => void) | undefined

  constructor(dataDir: string, clock: Clock, idleMs = idleMsDefault) {
    this.#dataDir = dataDir
    this.#clock = clock
    this.#idleMs = idleMs
  }

  get isRunning(): boolean {
    return this.#worker !== undefined
  }

  /** Async, so that a thread that cannot begin (there are too many) is a rejection, too. */
  async read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    if (this.#settle !== undefined) throw new Error('a page of history is being read already')
    this.#idle?.cancel()
    const worker = this.#worker ?? this.#start()
    const abort = () => this.#tell(worker, { kind: 'abort' })
    const page = new Promise<HistoryPage>((resolve, reject) => {
      this.#settle = (outcome) => {
        signal.removeEventListener('abort', abort)
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      }
    })
    this.#tell(worker, { kind: 'read', query })
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
    return page
  }

  /** Settles when the thread has ended; what it was reading is not read on. */
  async close(): Promise<void> {
    this.#idle?.cancel()
    const worker = this.#worker
    this.#worker = undefined
    this.#finish(new CoordinatorError('COORDINATOR_FAILED', 'the coordinator has ended'))
    await worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./history-thread-main.js', import.meta.url), {
      name: 'tenure-history',
      workerData: { dataDir: this.#dataDir },
      // It needs nothing of what this process was started with.
      execArgv: [],
      env: {},
    })
    // Whoever embeds a coordinator and has come to an end does not wait for what nobody asks.
    worker.unref()
    worker.on('message', (message: FromHistoryThread) => {
      if (message.kind === 'page') this.#finish(message.page)
      else this.#finish(new CoordinatorError('COORDINATOR_FAILED', message.why))
      this.#endWhenIdle(worker)
    })
    worker.on('error', (error) => this.#lose(worker, error))
    worker.on('exit', () => this.#lose(worker, undefined))
    this.#worker = worker
    return worker
  }

  #endWhenIdle(worker: Worker): void {
    if (worker !== this.#worker) return
    const end = () => {
      this.#worker = undefined
      worker.terminate().catch(() => {})
    }
    this.#idle = this.#clock.setTimer(this.#idleMs, end, 'background')
  }

  /** It has ended by itself. Who waits is told so, and the next one who asks gets another one. */
  #lose(worker: Worker, error: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const end = 'the thread that reads the log has ended'
    const why = error instanceof Error ? `${end}: ${error.message}` : end
    this.#finish(new CoordinatorError('COORDINATOR_FAILED', why, { cause: error }))
  }

  #finish(outcome: HistoryPage | Error): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(outcome)
  }

  #tell(worker: Worker, message: ToHistoryThread): void {
    worker.postMessage(message)
  }
}
