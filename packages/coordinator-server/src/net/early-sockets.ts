import type { Socket } from './transport.js'

/**
 * Connections that come before requests are served. Nothing is read from them until `open` hands them on,
 * in the order in which they came. Beyond the limit the oldest is closed: a client that gave up leaves a
 * connection of which nothing is seen before it is read.
 */
export class EarlySockets {
  readonly #max: number
  readonly #waiting = new Set<Socket>()
  #accept: (socket: Socket) => void = (socket) => this.#keep(socket)

  constructor(max: number) {
    this.#max = max
  }

  accept(socket: Socket): void {
    this.#accept(socket)
  }

  /** Hands on those that wait, and from now on each one that comes. */
  open(accept: (socket: Socket) => void): void {
    this.#accept = (socket) => {
      accept(socket)
      socket.resume()
    }
    for (const socket of this.#waiting) this.#accept(socket)
    this.#waiting.clear()
  }

  /** The start has failed: closes those that wait, and each one that comes. */
  close(): void {
    this.#accept = (socket) => socket.destroy()
    for (const socket of this.#waiting) socket.destroy()
    this.#waiting.clear()
  }

  #keep(socket: Socket): void {
    this.#waiting.add(socket)
    socket.onClose(() => this.#waiting.delete(socket))
    if (this.#waiting.size <= this.#max) return
    const [oldest] = this.#waiting
    this.#waiting.delete(oldest!)
    oldest!.destroy()
  }
}
