import { serialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Input } from '../input/input.js'
import { findingsDirectory } from './finding-files.js'

/** Inputs normally take milliseconds; one that takes this long counts as hanging. */
const patienceMsDefault = 30_000

/** Initial buffer size, enough for most inputs; it grows when needed. */
const initialBytes = 2 ** 16

/**
 * A hanging input blocks the thread that would report it. So each input is first shown to a second
 * thread, which saves it if it hangs, and ends the process.
 */
export class Watchdog {
  readonly #beats = new Int32Array(new SharedArrayBuffer(4))
  readonly #thread: Worker
  #buffer = sharedBytes(initialBytes)

  constructor(target: string, options: WatchdogOptions = {}) {
    const { patienceMs = patienceMsDefault, directory = findingsDirectory } = options
    const path = new URL('./watchdog-thread.js', import.meta.url)
    const [beats, buffer] = [this.#beats, this.#buffer]
    const workerData: Watched = { beats, buffer, target, patienceMs, directory }
    // The thread also keeps the process alive while an input awaits a promise that never settles.
    this.#thread = new Worker(path, { workerData })
  }

  /** Called before the input is run. */
  watch(input: Input): void {
    const bytes = serialize(input)
    if (bytes.length > this.#buffer.length) {
      this.#buffer = sharedBytes(2 * bytes.length)
      this.#thread.postMessage(this.#buffer)
    }
    this.#buffer.set(bytes)
    Atomics.add(this.#beats, 0, 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}

export interface WatchdogOptions {
  readonly patienceMs?: number
  /** Directory in which a hanging input is saved. */
  readonly directory?: string
}

export interface Watched {
  /** Number of inputs so far. */
  readonly beats: Int32Array
  /** The latest input, serialized. */
  readonly buffer: Uint8Array
  readonly target: string
  readonly patienceMs: number
  readonly directory: string
}

function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length))
}
