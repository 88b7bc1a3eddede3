import { connect, type Socket } from 'node:net'
import {
  type Answer,
  ClientConnection,
  encodeRequest,
  type Refusal,
  type Welcome,
} from '@tenure/protocol'

/** The least that can speak the protocol, one request after the other. */
export class Peer {
  readonly closed: Promise<void>
  readonly #socket: Socket
  readonly #connection = new ClientConnection()
  readonly #waiting: ((reply: Welcome | Refusal | Answer) => void)[] = []
  #nextId = 1

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('data', (bytes: Uint8Array) => this.#receive(bytes))
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()))
  }

  static async open(port: number, options: { readonly allowHalfOpen?: boolean } = {}) {
    const peer = new Peer(connect({ port, host: '127.0.0.1', ...options }))
    await peer.greet()
    return peer
  }

  greet(token?: string): Promise<Welcome | Refusal> {
    const hello = { role: 'admin', name: 'test', capacity: 1, ...(token && { token }) } as const
    this.#socket.write(ClientConnection.hello(hello))
    return this.#next() as Promise<Welcome | Refusal>
  }

  submit(payload: Uint8Array): Promise<Answer> {
    this.#socket.write(encodeRequest({ kind: 'submit', id: this.#nextId++, payload } as never))
    return this.#next() as Promise<Answer>
  }

  close(): void {
    this.#socket.destroy()
  }

  #next(): Promise<Welcome | Refusal | Answer> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #receive(bytes: Uint8Array): void {
    this.#connection.push(bytes)
    let reply = this.#connection.next()
    while (reply !== undefined) {
      if (reply.kind === 'welcome') this.#waiting.shift()?.(reply.welcome)
      else if (reply.kind === 'refused') this.#waiting.shift()?.(reply.refusal)
      else this.#waiting.shift()?.(reply.answer)
      reply = this.#connection.next()
    }
  }
}
