import { Worker } from 'node:worker_threads'

/** No input takes long. One that takes this long takes for ever. */
const patienceMs = 30_000

/**
 * An input that is never done would hold up whoever could tell of it: so a thread watches, says which
 * one it is, and ends the process.
 */
export class Watchdog {
  readonly #beats = new Int32Array(new SharedArrayBuffer(4))
  readonly #thread: Worker

  /** `what` is what hangs when it does, and how it is tried again. */
  constructor(what: string) {
    const path = new URL('./watchdog-thread.js', import.meta.url)
    const workerData: Watched = { beats: this.#beats, what, patienceMs }
    this.#thread = new Worker(path, { workerData })
    this.#thread.unref()
  }

  beat(): void {
    Atomics.add(this.#beats, 0, 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}

export interface Watched {
  readonly beats: Int32Array
  readonly what: string
  readonly patienceMs: number
}
