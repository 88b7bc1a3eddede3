import { Worker } from 'node:worker_threads'
import type { DsyncFile } from './dsync-file.js'

/** Indexes of the shared words: requests made, requests done, and the current request. */
export const word = { asked: 0, done: 1, bytes: 2, position: 3 } as const

// Node has `Atomics.waitAsync`; the ES2023 library of the compiler does not.
interface WaitAsync {
  waitAsync(
    words: Int32Array,
    index: number,
    value: number,
  ): { async: boolean; value: Promise<string> | string }
}
const { waitAsync } = Atomics as typeof Atomics & WaitAsync

/** A worker thread that writes synchronously and communicates only through shared memory. */
export class WritingThread {
  /** The data to write. */
  readonly buffer: Uint8Array
  readonly #words = new Int32Array(new SharedArrayBuffer(16))
  readonly #worker: Worker

  constructor(file: DsyncFile, bufferBytes: number) {
    this.buffer = new Uint8Array(new SharedArrayBuffer(bufferBytes))
    this.#worker = new Worker(new URL('./writing-thread-main.js', import.meta.url), {
      workerData: { fd: file.fd, buffer: this.buffer, words: this.#words },
    })
  }

  async write(bytes: number, position: number): Promise<void> {
    const done = Atomics.load(this.#words, word.done)
    Atomics.store(this.#words, word.bytes, bytes)
    Atomics.store(this.#words, word.position, position)
    Atomics.add(this.#words, word.asked, 1)
    Atomics.notify(this.#words, word.asked)
    await waitAsync(this.#words, word.done, done).value
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
