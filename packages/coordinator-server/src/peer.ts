import {
  type Answer,
  type Arrival,
  type ConnectionLimits,
  type Hello,
  type OtherVersion,
  ProtocolError,
  protocolVersion,
  type Reason,
  ServerConnection,
  type Welcome,
} from '@tenure/protocol'
import type { Coordinator, Session } from './coordinator.js'
import { Gate } from './gate.js'
import { rejected } from './refusals.js'
import type { Socket } from './transport.js'
import type { WorkerRegistry } from './worker-registry.js'

/** What all peers of one server share. */
export interface PeerContext {
  readonly coordinator: Coordinator
  readonly registry: WorkerRegistry
  readonly gate: Gate
  readonly welcome: Welcome
  readonly limits: ConnectionLimits
  /** Who lets more than this wait to be read is disconnected. */
  readonly unsentBytesMax: number
  readonly now: () => number
  readonly onViolation: (address: string, reason: Reason, message: string) => void
}

/**
 * One connection: the socket, what is understood on it, and the coordinator. Answers that are given
 * in one turn leave in one write.
 */
export class Peer {
  readonly #context: PeerContext
  readonly #socket: Socket
  readonly #connection: ServerConnection
  #hello: Hello | undefined
  #session: Session | undefined
  #outgoing: Buffer[] = []
  #isPaused = false
  #isClosed = false

  constructor(context: PeerContext, socket: Socket, onClosed: () => void) {
    this.#context = context
    this.#socket = socket
    this.#connection = new ServerConnection(context.limits, context.now())
    socket.onData((bytes) => this.#receive(bytes))
    socket.onClose(() => {
      this.#leave()
      onClosed()
    })
  }

  /** Ends the connection if what is awaited has not come in time. */
  checkTime(): void {
    if (this.#connection.isOverdue(this.#context.now())) {
      this.#refuse('PROTOCOL', 'what was begun was not ended in time')
    }
  }

  /** Ends the connection when what was answered has left. */
  end(): void {
    this.#flush()
    this.#isClosed = true
    this.#socket.end()
  }

  destroy(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isClosed) return
    this.#connection.push(bytes, this.#context.now())
    this.#read()
  }

  #read(): void {
    try {
      let arrival = this.#connection.next(this.#context.now())
      while (arrival !== undefined && !this.#isClosed) {
        this.#take(arrival)
        arrival = this.#connection.next(this.#context.now())
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#refuse('PROTOCOL', error.message)
    }
    this.#pauseOrResume()
  }

  #take(arrival: Arrival): void {
    if (arrival.kind === 'hello') {
      this.#greet(arrival.hello)
      return
    }
    const { request } = arrival
    const hello = this.#hello!
    if (request.kind !== 'malformed' && !Gate.mayAsk(hello.role, request.kind)) {
      this.#send(
        rejected(request.id, 'FORBIDDEN', `the role ${hello.role} may not ask for ${request.kind}`),
      )
      return
    }
    this.#context.coordinator.handle(request, this.#session!, (answer) => this.#send(answer))
  }

  #greet(hello: Hello | OtherVersion): void {
    const { gate, registry, welcome, now } = this.#context
    if ('otherVersion' in hello) {
      const message = `this coordinator speaks version ${protocolVersion}, not ${hello.otherVersion}`
      this.#refuse('UNSUPPORTED_VERSION', message)
      return
    }
    const refusal = gate.refusal(hello)
    if (refusal !== undefined) {
      this.#refuse(refusal.reason, refusal.message)
      return
    }
    this.#hello = hello
    this.#session = { name: hello.name }
    if (hello.role !== 'produce') registry.connected(hello.name, hello.capacity, now())
    this.#write(this.#connection.welcome(welcome))
  }

  #send(answer: Answer): void {
    if (this.#isClosed) return
    this.#write(this.#connection.answer(answer))
  }

  #write(bytes: Buffer): void {
    this.#outgoing.push(bytes)
    if (this.#outgoing.length === 1) queueMicrotask(() => this.#flush())
  }

  #flush(): void {
    const outgoing = this.#outgoing
    if (outgoing.length === 0 || this.#isClosed) return
    this.#outgoing = []
    this.#socket.write(outgoing.length === 1 ? outgoing[0]! : Buffer.concat(outgoing))
    if (this.#socket.unsentBytes > this.#context.unsentBytesMax) {
      const message = 'it does not read what it is answered'
      this.#context.onViolation(this.#socket.address, 'PROTOCOL', message)
      this.destroy()
    } else if (this.#isPaused) {
      // Room for requests that have arrived and were not looked at yet.
      this.#read()
    }
  }

  #pauseOrResume(): void {
    if (this.#isClosed || this.#connection.isFull === this.#isPaused) return
    this.#isPaused = this.#connection.isFull
    if (this.#isPaused) this.#socket.pause()
    else this.#socket.resume()
  }

  /** One clear word, and the end; a stranger who does not even greet gets no word. */
  #refuse(reason: Reason, message: string): void {
    if (this.#isClosed) return
    this.#context.onViolation(this.#socket.address, reason, message)
    const isStranger = reason === 'PROTOCOL' && this.#hello === undefined
    if (!isStranger) this.#outgoing.push(ServerConnection.farewell(reason, message))
    this.end()
  }

  #leave(): void {
    this.#isClosed = true
    if (this.#session === undefined) return
    this.#context.coordinator.leave(this.#session)
    if (this.#hello?.role !== 'produce') this.#context.registry.disconnected(this.#session.name)
  }
}
