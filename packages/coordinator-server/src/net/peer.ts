import {
  type Answer,
  type Arrival,
  type Hello,
  isPoll,
  type MalformedRequest,
  type OtherVersion,
  ProtocolError,
  protocolVersion,
  type Reason,
  type Request,
  ServerConnection,
  type Welcome,
} from '@tenure/protocol'
import type { Coordinator, Session } from '../core/coordinator.js'
import { isQuestion } from '../questions/questions.js'
import { notNow, rejected, tooManyRetryMs } from '../refusals.js'
import { Gate } from './gate.js'
import type { ServerLimits } from './limits.js'
import type { Socket } from './transport.js'
import type { Flushable, TurnEnd } from './turn-end.js'

/** What all peers of one server share. */
export interface PeerContext {
  readonly coordinator: Coordinator
  readonly gate: Gate
  readonly welcome: Welcome
  readonly limits: ServerLimits
  /** Milliseconds that never go back, for durations. */
  readonly now: () => number
  /** Calls back in a later turn of the loop. */
  readonly soon: (callback: () => void) => void
  readonly onViolation: (address: string, reason: Reason, message: string) => void
}

/** How many requests are answered in one turn, of those that nothing has to be waited for, */
const answersPerTurn = 64

/** and for how long: some questions look at thousands of tasks. */
const turnMs = 5

/**
 * How many questions of one connection wait for their turn; of one to which something still has to
 * leave only one, so that nobody makes long lists who does not read them.
 */
const questionsMax = 4

/** With more than this waiting to leave, nothing more is taken, */
const unsentBytesHigh = 1024 * 1024

/** nor with more than this in requests that wait for the disk, or for one another. */
const unansweredBytesHigh = 16 * 1024 * 1024

/** What may arrive beyond what is taken, so that the end behind it is still seen. */
const heldBytesMax = 64 * 1024

/**
 * One connection: the socket, what is understood on it, and the coordinator. Answers that are given
 * in one turn leave in one write.
 */
export class Peer implements Flushable {
  readonly #context: PeerContext
  readonly #turnEnd: TurnEnd
  readonly #socket: Socket
  readonly #connection: ServerConnection
  #hello: Hello | undefined
  #session: Session | undefined
  #outgoing: Buffer[] = []
  #outgoingBytes = 0
  #writtenBytes = 0
  /** Of this connection, which the coordinator has not answered yet. */
  #questions = 0
  /** Of the requests that have no answer yet. */
  #unansweredBytes = 0
  /** Enough was answered for this turn. */
  #isTurnOver = false
  /** What has arrived since there was room. */
  #heldBytes = 0
  #isPaused = false
  #isClosed = false
  /** How much had left when that was last seen to change, and when. */
  #left: { readonly bytes: number; readonly at: number }

  constructor(context: PeerContext, turnEnd: TurnEnd, socket: Socket, onClosed: () => void) {
    this.#context = context
    this.#turnEnd = turnEnd
    this.#socket = socket
    const now = context.now()
    this.#connection = new ServerConnection(context.limits, now)
    this.#left = { bytes: 0, at: now }
    socket.onData((bytes) => this.#receive(bytes))
    socket.onDrain(() => this.#read())
    socket.onClose((failure) => {
      if (failure !== undefined) context.onViolation(socket.address, 'PROTOCOL', failure)
      this.#leave()
      onClosed()
    })
  }

  /** Ends the connection if what is awaited has not come in time, or nothing is taken any more. */
  checkTime(): void {
    if (this.#isClosed) return
    const now = this.#context.now()
    if (this.#connection.isOverdue(now)) {
      this.#refuse('PROTOCOL', 'what was begun was not ended in time')
    } else if (this.#isDeaf(now)) {
      const message = 'it does not read what it is answered'
      this.#context.onViolation(this.#socket.address, 'PROTOCOL', message)
      this.destroy()
    }
  }

  /** Ends the connection when what was answered has left. */
  end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#writeOutgoing()
    this.#socket.end()
  }

  destroy(): void {
    this.#isClosed = true
    this.#socket.destroy()
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isClosed) return
    if (!this.#mayTake) this.#heldBytes += bytes.length
    this.#connection.push(bytes, this.#context.now())
    this.#read()
  }

  get #mayTake(): boolean {
    const { unsentBytesMax } = this.#context.limits
    const unsentBytes = this.#outgoingBytes + this.#socket.unsentBytes
    if (this.#isTurnOver || this.#connection.isFull) return false
    if (this.#unansweredBytes > unansweredBytesHigh) return false
    if (this.#questions >= (unsentBytes === 0 ? questionsMax : 1)) return false
    return unsentBytes <= Math.min(unsentBytesHigh, unsentBytesMax)
  }

  /** Much is unsent, and for long nothing of it has left. How much it is says nothing alone. */
  #isDeaf(now: number): boolean {
    const { unsentBytesMax, deafMs } = this.#context.limits
    const { unsentBytes } = this.#socket
    const bytes = this.#writtenBytes - unsentBytes
    if (unsentBytes <= unsentBytesMax || bytes !== this.#left.bytes) {
      this.#left = { bytes, at: now }
      return false
    }
    return now - this.#left.at >= deafMs
  }

  #read(): void {
    try {
      this.#takeArrivals()
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#refuse('PROTOCOL', error.message)
    }
    this.#pauseOrResume()
  }

  #takeArrivals(): void {
    const { now } = this.#context
    const startedAt = now()
    for (let answered = 0; !this.#isClosed; ) {
      const unanswered = this.#unanswered
      const arrival = this.#next(startedAt)
      if (arrival === undefined) return
      this.#take(arrival)
      if (this.#unanswered > unanswered) continue
      // It was answered at once: no limit on what is unanswered bounds that, or what it costs.
      answered++
      const isLong = answered === answersPerTurn || now() - startedAt >= turnMs
      if (isLong || !this.#mayTake) this.#endTurn()
    }
  }

  #next(now: number): Arrival | undefined {
    if (this.#mayTake) return this.#connection.next(now)
    this.#connection.hold()
    return undefined
  }

  get #unanswered(): number {
    return this.#connection.inFlight + this.#connection.polls
  }

  /** Others get their turn, and what was answered can leave. */
  #endTurn(): void {
    this.#isTurnOver = true
    this.#context.soon(() => {
      this.#isTurnOver = false
      if (!this.#isClosed) this.#read()
    })
  }

  #take(arrival: Arrival): void {
    if (arrival.kind === 'hello') {
      this.#greet(arrival.hello)
      return
    }
    const { request, bytes } = arrival
    const toPoll = isPoll(request)
    const refusal = this.#refusal(request, toPoll)
    if (refusal !== undefined) this.#send(refusal, toPoll)
    else {
      const asks = isQuestion(request) ? 1 : 0
      this.#questions += asks
      // Those of polls are few, and they may wait for long.
      const weight = toPoll ? 0 : bytes
      this.#unansweredBytes += weight
      this.#context.coordinator.handle(request, this.#session!, (answer) => {
        this.#questions -= asks
        this.#unansweredBytes -= weight
        this.#send(answer, toPoll)
      })
    }
  }

  /** Why the request does not get as far as the coordinator. */
  #refusal(request: Request | MalformedRequest, isPoll: boolean): Answer | undefined {
    const { role } = this.#hello!
    const { id, kind } = request
    if (kind !== 'malformed' && !Gate.mayAsk(role, kind)) {
      return rejected(id, 'FORBIDDEN', `the role ${role} may not ask for ${kind}`)
    }
    const isOneTooMany = this.#connection.polls > this.#context.limits.pollsPerConnectionMax
    return isPoll && isOneTooMany ? notNow(id, 'TOO_MANY', tooManyRetryMs) : undefined
  }

  #greet(hello: Hello | OtherVersion): void {
    const { coordinator, gate, welcome } = this.#context
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
    // An admin that states a capacity takes tasks, too.
    const takesTasks = hello.role === 'work' || (hello.role === 'admin' && hello.capacity > 0)
    if (takesTasks) coordinator.join(this.#session, hello.capacity)
    this.#write(this.#connection.welcome(welcome))
  }

  #send(answer: Answer, toPoll: boolean): void {
    if (this.#isClosed) return
    this.#write(this.#connection.answer(answer, toPoll))
  }

  #write(bytes: Buffer): void {
    this.#outgoing.push(bytes)
    this.#outgoingBytes += bytes.length
    if (this.#outgoing.length === 1) this.#turnEnd.add(this)
  }

  /** At the end of a turn in which it was answered. */
  flush(): void {
    if (this.#isClosed) return
    this.#writeOutgoing()
    // There may be room now for requests that have arrived and were not looked at yet.
    if (this.#connection.isInside || this.#isPaused) this.#read()
  }

  #writeOutgoing(): void {
    const outgoing = this.#outgoing
    if (outgoing.length === 0) return
    this.#writtenBytes += this.#outgoingBytes
    this.#outgoing = []
    this.#outgoingBytes = 0
    this.#socket.write(outgoing.length === 1 ? outgoing[0]! : Buffer.concat(outgoing))
  }

  #pauseOrResume(): void {
    if (this.#isClosed) return
    if (this.#mayTake) this.#heldBytes = 0
    const isPaused = this.#heldBytes >= heldBytesMax
    if (isPaused === this.#isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#socket.pause()
    else this.#socket.resume()
  }

  /** One clear word, and the end; a stranger who does not even greet gets no word. */
  #refuse(reason: Reason, message: string): void {
    if (this.#isClosed) return
    this.#context.onViolation(this.#socket.address, reason, message)
    const isStranger = reason === 'PROTOCOL' && this.#hello === undefined
    if (!isStranger) this.#write(ServerConnection.farewell(reason, message))
    this.end()
  }

  #leave(): void {
    this.#isClosed = true
    if (this.#session !== undefined) this.#context.coordinator.leave(this.#session)
  }
}
