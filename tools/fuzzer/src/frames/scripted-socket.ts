import type { Socket } from '@tenure/coordinator-server'
import { holds } from '@tenure/harness'

/**
 * The coordinator's end of a connection whose other end is the input; it keeps everything written.
 */
export class ScriptedSocket implements Socket {
  readonly address = 'somewhere'
  readonly written: Uint8Array[] = []
  unsentBytes = 0
  isOver = false
  /** Bytes that arrived while reading was paused. */
  readonly #waiting: Uint8Array[] = []
  #isPaused = false
  #onData: (bytes: Uint8Array) => void = () => {}
  #onDrain: () => void = () => {}
  #onClose: () => void = () => {}

  onData(callback: (bytes: Uint8Array) => void): void {
    this.#onData = callback
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback
  }

  onClose(callback: () => void): void {
    this.#onClose = callback
  }

  write(bytes: Uint8Array): void {
    holds(!this.isOver, 'nothing is written after the end', () => `${bytes.length} bytes`)
    this.written.push(bytes)
    this.unsentBytes += bytes.length
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    while (!this.#isPaused && this.#waiting.length > 0) this.#onData(this.#waiting.shift()!)
  }

  end(): void {
    this.isOver = true
  }

  destroy(): void {
    this.isOver = true
  }

  /** Delivers bytes if reading is not paused. Their buffer is used again. */
  arrive(bytes: Uint8Array): void {
    if (this.#isPaused) this.#waiting.push(bytes)
    else this.#onData(bytes)
  }

  /** Reads everything on the peer's side. */
  drain(): void {
    this.unsentBytes = 0
    this.#onDrain()
  }

  close(): void {
    this.isOver = true
    this.#onClose()
  }
}
