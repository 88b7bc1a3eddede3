import type { Socket } from './transport.js'

/**
 * Holds connections that arrive before requests are served, without reading from them. `open` passes them
 * on in order of arrival. Over the limit the oldest is closed: an unread connection does not show whether
 * its client has given up.
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

  /** Passes on the held sockets, and from now on each new one. */
  open(accept: (socket: Socket) => void): void {
    this.#accept = (socket) => {
      accept(socket)
      socket.resume()
    }
    for (const socket of this.#waiting) this.#accept(socket)
    this.#waiting.clear()
  }

  /** Closes the held sockets and all later ones, because startup failed. */
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
