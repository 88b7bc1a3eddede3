import {
  type Answer,
  ClientConnection,
  encodeRequest,
  type Request,
  type Role,
} from '@tenure/protocol'
import type { SimulatedClock, SimulatedNetwork, SimulatedSocket } from '@tenure/testing'

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never
export type Asking = WithoutId<Request>

/** Somebody with a connection who comes back whenever it breaks. */
export abstract class Actor {
  readonly name: string
  protected readonly clock: SimulatedClock
  readonly #role: Role
  readonly #network: SimulatedNetwork
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #socket: SimulatedSocket | undefined
  #isOpen = false
  #nextId = 1

  constructor(name: string, role: Role, clock: SimulatedClock, network: SimulatedNetwork) {
    this.name = name
    this.#role = role
    this.clock = clock
    this.#network = network
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  connect(): void {
    const connection = new ClientConnection()
    const socket = this.#network.connect()
    this.#socket = socket
    socket.onClose(() => this.#lose(socket))
    socket.onData((bytes) => {
      connection.push(bytes)
      for (let reply = connection.next(); reply !== undefined; reply = connection.next()) {
        if (reply.kind === 'welcome') this.#open()
        else if (reply.kind === 'answer') this.#take(reply.answer)
      }
    })
    socket.write(ClientConnection.hello({ role: this.#role, name: this.name, capacity: 1 }))
    // Nobody listened, and the socket closed before anybody could be told.
    if (this.#network.size === 0) this.#lose(socket)
  }

  /** The connection is open; what was asked on the one before will not be answered. */
  protected abstract onOpen(): void

  protected ask(asking: Asking, onAnswer: (answer: Answer) => void): void {
    if (!this.#isOpen) return
    const id = this.#nextId++
    this.#waiting.set(id, onAnswer)
    this.#socket?.write(encodeRequest({ ...asking, id } as Request))
  }

  #open(): void {
    this.#isOpen = true
    this.onOpen()
  }

  #take(answer: Answer): void {
    const onAnswer = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    onAnswer?.(answer)
  }

  #lose(socket: SimulatedSocket): void {
    if (this.#socket !== socket) return
    this.#socket = undefined
    this.#isOpen = false
    this.#waiting.clear()
    this.clock.setTimer(10, () => this.connect())
  }
}
