import { connect, type Socket } from 'node:net'
import {
  type Answer,
  ClientConnection,
  encodeRequest,
  type Hello,
  type Refusal,
  type Request,
  type Welcome,
} from '@tenure/protocol'

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never

/** A minimal client of the protocol over a real socket. */
export class PeerClient {
  readonly socket: Socket
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>
  readonly #connection = new ClientConnection()
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #nextId = 1
  #greeted: (greeting: Welcome | Refusal) => void = () => {}
  /** The answer with id 0, which says why the connection ends. */
  farewell: Answer | undefined

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => {})
    this.socket.on('data', (bytes) => this.#receive(bytes))
    this.closed = new Promise((resolve) => this.socket.on('close', () => resolve()))
  }

  static async open(port: number, hello: Partial<Hello> = {}): Promise<PeerClient> {
    const client = new PeerClient(port)
    const greeting = await client.greet(hello)
    if ('reason' in greeting) throw new Error(`refused: ${greeting.reason}`)
    return client
  }

  greet(hello: Partial<Hello> = {}): Promise<Welcome | Refusal> {
    this.socket.write(ClientConnection.hello({ role: 'admin', name: 'w1', capacity: 0, ...hello }))
    const closed = this.closed.then(() => {
      throw new Error('the connection closed before it was greeted')
    })
    const greeted = new Promise<Welcome | Refusal>((resolve) => {
      this.#greeted = resolve
    })
    return Promise.race([greeted, closed])
  }

  ask(request: WithoutId<Request>): Promise<Answer> {
    const id = this.#nextId++
    this.socket.write(encodeRequest({ ...request, id } as Request))
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  close(): Promise<void> {
    this.socket.end()
    return this.closed
  }

  #receive(bytes: Uint8Array): void {
    this.#connection.push(bytes)
    for (
      let reply = this.#connection.next();
      reply !== undefined;
      reply = this.#connection.next()
    ) {
      if (reply.kind === 'welcome') this.#greeted(reply.welcome)
      else if (reply.kind === 'refused') this.#greeted(reply.refusal)
      else if (reply.answer.id === 0) this.farewell = reply.answer
      else {
        this.#waiting.get(reply.answer.id)?.(reply.answer)
        this.#waiting.delete(reply.answer.id)
      }
    }
  }
}
