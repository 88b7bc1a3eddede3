import {
  type Answer,
  type Arrival,
  type Hello,
  type MalformedRequest,
  type OtherVersion,
  ProtocolError,
  protocolVersion,
  type Reason,
  type Request,
  ServerConnection,
  type Welcome,
} from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'
import type { Coordinator } from '../core/coordinator.js'
import type { Session } from '../core/pending-request.js'
import { isQuestion } from '../questions/questions.js'
import { notNow, rejected, tooManyRetryMs } from '../refusals.js'
import { FlowControl } from './flow-control.js'
import { Gate } from './gate.js'
import type { ServerLimits } from './limits.js'
import type { Socket } from './transport.js'

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

/**
 * One connection: the socket, what is understood on it, and the coordinator. Answers that are given
 * in one turn leave in one write.
 */
export class Peer implements Flushable {
  readonly #context: PeerContext
  readonly #turnEnd: TurnEnd
  readonly #socket: Socket
  readonly #connection: ServerConnection
  readonly #flow: FlowControl
  #hello: Hello | undefined
  #session: Session | undefined
  #outgoing: Buffer[] = []
  #isClosed = false

  constructor(context: PeerContext, turnEnd: TurnEnd, socket: Socket, onClosed: () => void) {
    this.#context = context
    this.#turnEnd = turnEnd
    this.#socket = socket
    const now = context.now()
    this.#connection = new ServerConnection(context.limits, now)
    this.#flow = new FlowControl(context.limits, this.#connection, socket, now)
    socket.onData((bytes) => this.#receive(bytes))
    socket.onDrain(() => this.#takeArrivals())
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
    } else if (this.#flow.isDeaf(now)) {
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
    this.#flow.arrived(bytes.length)
    this.#connection.push(bytes, this.#context.now())
    this.#takeArrivals()
  }

  /** Takes as much of what has arrived as may be taken; called whenever that may have become more. */
  #takeArrivals(): void {
    const { now } = this.#context
    const startedAt = now()
    this.#flow.beginTurn(startedAt)
    try {
      for (let arrival = this.#next(startedAt); arrival; arrival = this.#next(startedAt)) {
        if (this.#take(arrival) === 'answered' && this.#flow.answeredAtOnce(now())) this.#endTurn()
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#refuse('PROTOCOL', error.message)
    }
    if (!this.#isClosed) this.#flow.pauseOrResume()
  }

  #next(now: number): Arrival | undefined {
    if (this.#isClosed) return undefined
    if (this.#flow.mayTake) return this.#connection.next(now)
    this.#connection.hold()
    return undefined
  }

  /** Others get their turn, and what was answered can leave. */
  #endTurn(): void {
    this.#context.soon(() => {
      this.#flow.nextTurn()
      if (!this.#isClosed) this.#takeArrivals()
    })
  }

  #take(arrival: Arrival): 'answered' | 'pending' {
    if (arrival.kind === 'hello') {
      this.#greet(arrival.hello)
      return 'answered'
    }
    const { request } = arrival
    const toPoll = isPoll(request)
    const refusal = this.#refusal(request, toPoll)
    if (refusal !== undefined) {
      this.#send(refusal, toPoll)
      return 'answered'
    }
    const load = { isQuestion: isQuestion(request), bytes: toPoll ? 0 : arrival.bytes }
    this.#flow.taken(load)
    return this.#context.coordinator.handle(request, this.#session!, (answer) => {
      this.#flow.answered(load)
      this.#send(answer, toPoll)
    })
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
    this.#flow.outgoing(bytes.length)
    if (this.#outgoing.length === 1) this.#turnEnd.add(this)
  }

  /** At the end of a turn in which it was answered. */
  flush(): void {
    if (this.#isClosed) return
    this.#writeOutgoing()
    // There may be room now for requests that have arrived and were not looked at yet.
    if (this.#connection.isInside || this.#flow.isPaused) this.#takeArrivals()
  }

  #writeOutgoing(): void {
    const outgoing = this.#outgoing
    if (outgoing.length === 0) return
    this.#outgoing = []
    this.#flow.written()
    this.#socket.write(outgoing.length === 1 ? outgoing[0]! : Buffer.concat(outgoing))
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

/** Whoever has something to do when the work of this turn is done. */
export interface Flushable {
  flush(): void
}

/**
 * The end of the turn, for all peers together: what they were answered leaves then. One callback does for
 * all of them; each for itself costs as much as a tenth of a submission.
 */
export class TurnEnd {
  #waiting: Flushable[] = []

  /** Whoever adds itself twice is called twice. */
  add(one: Flushable): void {
    if (this.#waiting.push(one) === 1) queueMicrotask(this.#run)
  }

  readonly #run = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) one.flush()
  }
}
