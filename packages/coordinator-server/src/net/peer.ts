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
  type Role,
  ServerConnection,
} from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'
import type { Coordinator } from '../core/coordinator.js'
import type { Session } from '../core/pending-request.js'
import { isQuery } from '../queries/queries.js'
import { rejected, rejectedForNow, tooManyRetryMs } from '../refusals.js'
import { FlowControl } from './flow-control.js'
import { Gate } from './gate.js'
import type { ServerLimits } from './limits.js'
import { describeStandby, type Standby, type Standing } from './standing.js'
import type { Socket } from './transport.js'

/** Dependencies shared by all peers of a server. */
export interface PeerContext {
  readonly gate: Gate
  readonly limits: ServerLimits
  /** A monotonic clock, for durations. */
  readonly now: () => number
  /** Calls back in a later turn of the event loop. */
  readonly soon: (callback: () => void) => void
  readonly onViolation: (address: string, reason: Reason, message: string) => void
}

/** The session of a peer after its welcome. */
interface Membership {
  readonly coordinator: Coordinator
  readonly role: Role
  readonly session: Session
}

/**
 * One connection: joins the socket, the protocol and the coordinator. All answers of one event loop turn
 * leave in one write.
 */
export class Peer implements Flushable {
  readonly #context: PeerContext
  readonly #standing: () => Standing
  readonly #turnEnd: TurnEnd
  readonly #socket: Socket
  readonly #connection: ServerConnection
  readonly #flow: FlowControl
  #membership: Membership | undefined
  #outgoing: Buffer[] = []
  #isClosed = false

  constructor(
    context: PeerContext,
    standing: () => Standing,
    turnEnd: TurnEnd,
    socket: Socket,
    onClosed: () => void,
  ) {
    this.#context = context
    this.#standing = standing
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

  /** Closes the connection on a protocol timeout, or when the peer has stopped reading. */
  checkTime(): void {
    if (this.#isClosed) return
    const now = this.#context.now()
    if (this.#connection.isOverdue(now)) {
      this.#refuse('PROTOCOL', 'timed out waiting for the rest of a frame')
    } else if (this.#flow.isSlowReader(now)) {
      const message = 'the peer does not read its answers'
      this.#context.onViolation(this.#socket.address, 'PROTOCOL', message)
      this.destroy()
    }
  }

  /** Closes the connection after all answers are sent. */
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

  /**
   * Ends a welcomed connection with NOT_ACTIVE. Requests in flight get no answer, and waiting polls no task. A
   * peer that has not sent its hello is rejected when it does.
   */
  stepDown(standby: Standby): void {
    if (this.#isClosed || this.#membership === undefined) return
    this.#rejectAsStandby('this coordinator has stepped down', standby)
    this.#leave()
  }

  #receive(bytes: Uint8Array): void {
    if (this.#isClosed) return
    this.#flow.arrived(bytes.length)
    this.#connection.push(bytes, this.#context.now())
    this.#takeArrivals()
  }

  /** Processes received requests as far as flow control allows. Called whenever it may allow more. */
  #takeArrivals(): void {
    const { now } = this.#context
    const startedAt = now()
    this.#flow.beginTurn(startedAt)
    try {
      for (let arrival = this.#next(startedAt); arrival; arrival = this.#next(startedAt)) {
        if (this.#take(arrival) === 'answered' && this.#flow.answeredImmediately(now()))
          this.#endTurn()
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
    this.#connection.suspendFrameTimeout()
    return undefined
  }

  /** Lets other connections run, and lets the answers leave. */
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
    const load = { isQuery: isQuery(request), bytes: toPoll ? 0 : arrival.bytes }
    this.#flow.taken(load)
    const { coordinator, session } = this.#membership!
    return coordinator.handle(request, session, (answer) => {
      this.#flow.answered(load)
      this.#send(answer, toPoll)
    })
  }

  /** Rejects a request before it reaches the coordinator. */
  #refusal(request: Request | MalformedRequest, isPoll: boolean): Answer | undefined {
    const { role } = this.#membership!
    const { id, kind } = request
    if (kind !== 'malformed' && !Gate.mayAsk(role, kind)) {
      return rejected(id, 'FORBIDDEN', `the role ${role} may not send ${kind}`)
    }
    const isOneTooMany = this.#connection.polls > this.#context.limits.pollsPerConnectionMax
    if (!isPoll || !isOneTooMany) return undefined
    const message = 'too many lease requests wait on this connection (pollsPerConnectionMax)'
    return rejectedForNow(id, 'TOO_MANY', tooManyRetryMs, message)
  }

  #greet(hello: Hello | OtherVersion): void {
    const standing = this.#standing()
    if (standing.role === 'standby') {
      this.#rejectAsStandby('this coordinator is a standby', standing)
      return
    }
    if ('otherVersion' in hello) {
      const message = `unsupported protocol version ${hello.otherVersion}; this coordinator speaks version ${protocolVersion}`
      this.#refuse('UNSUPPORTED_VERSION', message)
      return
    }
    const refusal = this.#context.gate.refusal(hello)
    if (refusal !== undefined) {
      this.#refuse(refusal.reason, refusal.message)
      return
    }
    const { name, role, capacity } = hello
    const { coordinator, welcome } = standing
    const session = { name }
    this.#membership = { coordinator, role, session }
    // An admin connection with a stated capacity also runs tasks.
    const takesTasks = role === 'work' || (role === 'admin' && capacity > 0)
    if (takesTasks) coordinator.join(session, capacity)
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

  /** Writes the answers of this turn. */
  flush(): void {
    if (this.#isClosed) return
    this.#writeOutgoing()
    // Sending the answers may allow taking requests that have already arrived.
    if (this.#connection.hasUnreadBytes || this.#flow.isPaused) this.#takeArrivals()
  }

  #writeOutgoing(): void {
    const outgoing = this.#outgoing
    if (outgoing.length === 0) return
    this.#outgoing = []
    this.#flow.written()
    this.#socket.write(outgoing.length === 1 ? outgoing[0]! : Buffer.concat(outgoing))
  }

  /** Sends one rejection and closes; a peer without a valid hello gets no message. */
  #refuse(reason: Reason, message: string): void {
    if (this.#isClosed) return
    this.#context.onViolation(this.#socket.address, reason, message)
    const isStranger = reason === 'PROTOCOL' && this.#membership === undefined
    if (!isStranger) this.#write(ServerConnection.farewell(reason, message))
    this.end()
  }

  /** No violation: a peer that tries all its addresses also meets the standbys. */
  #rejectAsStandby(what: string, standby: Standby): void {
    const message = describeStandby(what, standby)
    this.#write(ServerConnection.farewell('NOT_ACTIVE', message, standby.active))
    this.end()
  }

  #leave(): void {
    this.#isClosed = true
    const membership = this.#membership
    if (membership === undefined) return
    this.#membership = undefined
    membership.coordinator.leave(membership.session)
  }
}

/** Runs at the end of an event loop turn. */
export interface Flushable {
  flush(): void
}

/**
 * Flushes all peers with answers at the end of the turn. One shared callback: a callback per peer would cost up
 * to a tenth of a submission.
 */
export class TurnEnd {
  #waiting: Flushable[] = []

  /** An entry that is added twice is flushed twice. */
  add(one: Flushable): void {
    if (this.#waiting.push(one) === 1) queueMicrotask(this.#run)
  }

  readonly #run = (): void => {
    const waiting = this.#waiting
    this.#waiting = []
    for (const one of waiting) one.flush()
  }
}
