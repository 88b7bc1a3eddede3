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

/** The thread ends after this long without a request. */
const idleMsDefault = 30_000

/**
 * Reads history in a separate thread, because one page can take a second of CPU time. The thread starts with
 * the first request and ends when it has been idle.
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

  /** Async so that a failure to start the thread also becomes a rejection. */
  async read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage> {
    if (this.#settle !== undefined) throw new Error('a history page is already being read')
    this.#idle?.cancel()
    const worker = this.#worker ?? this.#start()
    const abort = () => this.#post(worker, { kind: 'abort' })
    const page = new Promise<HistoryPage>((resolve, reject) => {
      this.#settle = (outcome) => {
        signal.removeEventListener('abort', abort)
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      }
    })
    this.#post(worker, { kind: 'read', query })
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
    return page
  }

  /** Abandons a running read, and resolves when the thread has ended. */
  async close(): Promise<void> {
    this.#idle?.cancel()
    const worker = this.#worker
    this.#worker = undefined
    const why =
      'the coordinator stopped before the history was read; try again after it has restarted'
    this.#finish(new CoordinatorError('COORDINATOR_FAILED', why))
    await worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./history-thread-main.js', import.meta.url), {
      name: 'tenure-history',
      workerData: { dataDir: this.#dataDir },
      // The thread needs none of the process's arguments or variables.
      execArgv: [],
      env: {},
    })
    // An idle history thread must not keep the process alive.
    worker.unref()
    worker.on('message', (message: FromHistoryThread) => {
      if (message.kind === 'page') this.#finish(message.page)
      else this.#finish(new CoordinatorError('COORDINATOR_FAILED', message.why))
      this.#endWhenIdle(worker)
    })
    worker.on('error', (error) => this.#onThreadEnd(worker, error))
    worker.on('exit', () => this.#onThreadEnd(worker, undefined))
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

  /** The thread ended unexpectedly: fails the running read; the next request starts a new thread. */
  #onThreadEnd(worker: Worker, error: unknown): void {
    if (worker !== this.#worker) return
    this.#worker = undefined
    const end = 'the thread that reads the history ended'
    const why = error instanceof Error ? `${end}: ${error.message}` : `${end}; try again`
    this.#finish(new CoordinatorError('COORDINATOR_FAILED', why, { cause: error }))
  }

  #finish(outcome: HistoryPage | Error): void {
    const settle = this.#settle
    this.#settle = undefined
    settle?.(outcome)
  }

  #post(worker: Worker, message: ToHistoryThread): void {
    worker.postMessage(message)
  }
}
