import { connect } from 'node:net'
import { ClientConnection, type Reply } from '@tenure/protocol'

/** Sends arbitrary bytes after a hello, which no client would send. */
export class RawPeer {
  readonly #socket
  readonly #connection = new ClientConnection()
  readonly #waiting: ((reply: Reply | undefined) => void)[] = []

  constructor(port: number, options: { readonly allowHalfOpen?: boolean } = {}) {
    this.#socket = connect({ port, host: '127.0.0.1', ...options })
    this.#socket.on('error', () => {})
    this.#socket.on('data', (bytes) => this.#receive(bytes))
    this.#socket.on('close', () => {
      for (const resolve of this.#waiting) resolve(undefined)
    })
  }

  /** Connects as an admin under this name. */
  static async open(
    port: number,
    name: string,
    options: { readonly allowHalfOpen?: boolean } = {},
  ) {
    const peer = new RawPeer(port, options)
    await peer.say(ClientConnection.hello({ role: 'admin', name, capacity: 1 }))
    return peer
  }

  /** Resolves to the next reply, or to nothing when the connection ends first. */
  say(bytes: Uint8Array): Promise<Reply | undefined> {
    this.#socket.write(bytes)
    return this.next()
  }

  next(): Promise<Reply | undefined> {
    if (this.#socket.closed) return Promise.resolve(undefined)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(bytes: Uint8Array): void {
    this.#connection.push(bytes)
    let reply = this.#connection.next()
    while (reply !== undefined) {
      this.#waiting.shift()?.(reply)
      reply = this.#connection.next()
    }
  }
}
