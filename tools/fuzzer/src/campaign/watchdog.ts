import { serialize } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Input } from '../input/input.js'
import { findingsDirectory } from './finding-files.js'

/** No input takes long. One that takes this long takes for ever. */
const patienceMsDefault = 30_000

/** Most inputs need less. One that needs more gets it. */
const roomBytes = 2 ** 16

/**
 * An input that is never done would hold up whoever could tell of it: so a thread watches, to which
 * each one is shown before it is tried. It saves the one that hangs, and ends the process.
 */
export class Watchdog {
  readonly #beats = new Int32Array(new SharedArrayBuffer(4))
  readonly #thread: Worker
  #room = sharedBytes(roomBytes)

  constructor(target: string, options: WatchdogOptions = {}) {
    const { patienceMs = patienceMsDefault, directory = findingsDirectory } = options
    const path = new URL('./watchdog-thread.js', import.meta.url)
    const [beats, room] = [this.#beats, this.#room]
    const workerData: Watched = { beats, room, target, patienceMs, directory }
    // It keeps the process going, too, where an input waits for what never comes.
    this.#thread = new Worker(path, { workerData })
  }

  /** Before it is tried. */
  watch(input: Input): void {
    const bytes = serialize(input)
    if (bytes.length > this.#room.length) {
      this.#room = sharedBytes(2 * bytes.length)
      this.#thread.postMessage(this.#room)
    }
    this.#room.set(bytes)
    Atomics.add(this.#beats, 0, 1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread.terminate()
  }
}

export interface WatchdogOptions {
  readonly patienceMs?: number
  /** Where an input that hangs is saved. */
  readonly directory?: string
}

export interface Watched {
  /** How many inputs there were. */
  readonly beats: Int32Array
  /** The last one of them, serialized. */
  readonly room: Uint8Array
  readonly target: string
  readonly patienceMs: number
  readonly directory: string
}

function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length))
}
