import { connect, type Socket } from 'node:net'
import { type Answer, ClientConnection, encodeRequest, type Request } from '@tenure/protocol'

type WithoutId<T> = T extends unknown ? Omit<T, 'id'> : never

/** One connection of the load: requests of one turn leave in one write. */
export class LoadConnection {
  readonly #socket: Socket
  readonly #connection = new ClientConnection()
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #outgoing: Buffer[] = []
  #nextId = 1

  private constructor(socket: Socket, onWelcome: () => void) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (bytes) => {
      this.#connection.push(bytes)
      for (let reply = this.#connection.next(); reply; reply = this.#connection.next()) {
        if (reply.kind === 'welcome') onWelcome()
        else if (reply.kind === 'refused') throw new Error(reply.refusal.message)
        else this.#take(reply.answer)
      }
    })
  }

  static open(port: number, name: string): Promise<LoadConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', reject)
      const connection = new LoadConnection(socket, () => resolve(connection))
      socket.write(ClientConnection.hello({ role: 'admin', name, capacity: 100 }))
    })
  }

  ask(request: WithoutId<Request>): Promise<Answer> {
    const id = this.#nextId++
    this.#outgoing.push(encodeRequest({ ...request, id } as Request))
    if (this.#outgoing.length === 1) queueMicrotask(() => this.#flush())
    return new Promise((resolve) => this.#waiting.set(id, resolve))
  }

  close(): void {
    this.#socket.destroy()
  }

  #flush(): void {
    this.#socket.write(Buffer.concat(this.#outgoing))
    this.#outgoing = []
  }

  #take(answer: Answer): void {
    this.#waiting.get(answer.id)?.(answer)
    this.#waiting.delete(answer.id)
  }
}
