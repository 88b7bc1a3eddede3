import {
  type Answer,
  type Hello,
  type Limits,
  type MalformedRequest,
  type OtherVersion,
  type Reason,
  type Request,
  type RequestKind,
  type RequestOf,
  ServerConnection,
} from '@tenure/protocol'
import type { SimulatedClock, SimulatedNetwork, SimulatedSocket } from '@tenure/testing'

type WithoutId<A> = A extends Answer ? Omit<A, 'id'> : never
/** An answer without its request id. */
export type AnswerOf = WithoutId<Answer>

/** A received request. */
export class Asked<R extends Request = Request> {
  readonly request: R
  readonly arrivedAtMs: number
  readonly peer: Peer

  constructor(peer: Peer, request: R, arrivedAtMs: number) {
    this.peer = peer
    this.request = request
    this.arrivedAtMs = arrivedAtMs
  }

  answer(answer: AnswerOf): void {
    this.peer.answer({ ...answer, id: this.request.id } as Answer)
  }

  reject(reason: Reason, retryAfterMs?: number): void {
    const hint = retryAfterMs === undefined ? {} : { retryAfterMs }
    this.answer({ kind: 'rejected', reason, message: `because ${reason}`, ...hint })
  }
}

/** One connection, as the coordinator sees it. */
class Peer {
  readonly #coordinator: ScriptedCoordinator
  readonly #socket: SimulatedSocket
  readonly #protocol: ServerConnection

  constructor(coordinator: ScriptedCoordinator, socket: SimulatedSocket) {
    this.#coordinator = coordinator
    this.#socket = socket
    const { frameBytesMax, requestsInFlightMax } = coordinator.limits
    const never = Number.POSITIVE_INFINITY
    const times = { handshakeMs: never, frameMs: never }
    this.#protocol = new ServerConnection({ frameBytesMax, requestsInFlightMax, ...times }, 0)
    socket.onClose(() => coordinator.lost(this))
    socket.onData((bytes) => {
      if (coordinator.isSilent) return
      this.#protocol.push(bytes, 0)
      this.#pump()
    })
  }

  /** Called twice to duplicate an answer. */
  answer(answer: Answer): void {
    this.#socket.write(this.#protocol.answer(answer))
    this.#pump()
  }

  #pump(): void {
    for (;;) {
      const arrival = this.#protocol.next(0)
      if (arrival === undefined) return
      if (arrival.kind === 'hello') this.#greet(arrival.hello)
      else this.#arrived(arrival.request)
    }
  }

  /** Ends the connection with a rejection that belongs to no request. */
  refuse(reason: Reason, active: string | undefined): void {
    this.#socket.write(ServerConnection.farewell(reason, `because ${reason}`, active))
    this.#socket.end()
  }

  #greet(hello: Hello | OtherVersion): void {
    const { refusal, active, limits, heartbeatIntervalMs, log } = this.#coordinator
    this.#coordinator.hellos.push(hello)
    if (refusal !== undefined) {
      this.refuse(refusal, active)
      return
    }
    this.#socket.write(
      this.#protocol.welcome({
        version: 1,
        epoch: 1,
        syncMode: 'always',
        limits,
        leaseDurationMs: 30_000,
        heartbeatIntervalMs,
        log,
      }),
    )
  }

  #arrived(request: Request | MalformedRequest): void {
    if (request.kind === 'malformed') throw new Error(request.message)
    this.#coordinator.arrived(new Asked(this, request, this.#coordinator.clock.monotonicMs()))
  }
}

export interface CoordinatorOptions {
  readonly limits?: Partial<Limits>
  readonly heartbeatIntervalMs?: number
}

/** A coordinator controlled by the test. By itself it answers only pings and withdrawals. */
export class ScriptedCoordinator {
  readonly clock: SimulatedClock
  limits: Limits
  readonly heartbeatIntervalMs: number
  readonly hellos: (Hello | OtherVersion)[] = []
  /** All received requests, in order. */
  readonly asked: Asked[] = []
  /** Half-open: received data is ignored. */
  isSilent = false
  /** Accepts no connections. */
  isDown = false
  /** Reason for rejecting hellos, if set. */
  refusal: Reason | undefined
  /** With the refusal NOT_ACTIVE: the address of the active coordinator. */
  active: string | undefined
  log = 'ab'.repeat(16)
  /** Answers requests; returns false for one that it leaves to the test. */
  script: (asked: Asked) => boolean = () => false
  readonly #peers = new Set<Peer>()
  /** Answers withdrawn polls as the real coordinator does. A test may do it itself. */
  answersWithdrawals = true
  #open: Asked[] = []

  constructor(clock: SimulatedClock, network: SimulatedNetwork, options: CoordinatorOptions = {}) {
    this.clock = clock
    this.heartbeatIntervalMs = options.heartbeatIntervalMs ?? 10_000
    this.limits = {
      frameBytesMax: 100_000,
      payloadBytesMax: 90_000,
      resultBytesMax: 5000,
      requestsInFlightMax: 100,
      pollsPerConnectionMax: 1000,
      waitMsMax: 60_000,
      ...options.limits,
    }
    void network.listen((socket) => {
      // Rejects later: the caller must return first.
      if (this.isDown) clock.setTimer(0, () => socket.destroy())
      else this.#peers.add(new Peer(this, socket))
    })
  }

  /** Ends all connections with NOT_ACTIVE, and refuses later ones. */
  stepDown(active?: string): void {
    this.refusal = 'NOT_ACTIVE'
    this.active = active
    for (const peer of this.#peers) peer.refuse('NOT_ACTIVE', active)
  }

  takeOver(): void {
    this.refusal = undefined
    this.active = undefined
  }

  arrived(asked: Asked): void {
    const { request } = asked
    this.asked.push(asked)
    if (this.script(asked)) return
    if (request.kind === 'ping') asked.answer({ kind: 'pong' })
    else if (request.kind === 'withdraw') this.#withdraw(asked, request.of)
    else this.#open.push(asked)
  }

  /** Unanswered requests of this kind. */
  waiting<K extends RequestKind>(kind: K): readonly Asked<RequestOf<K>>[] {
    return this.#open.filter(({ request }) => request.kind === kind) as never
  }

  /** The oldest unanswered request of this kind. */
  take<K extends RequestKind>(kind: K): Asked<RequestOf<K>> {
    const at = this.#open.findIndex(({ request }) => request.kind === kind)
    if (at === -1) throw new Error(`no ${kind} waits for an answer`)
    return this.#open.splice(at, 1)[0] as never
  }

  /** All received requests of this kind. */
  all<K extends RequestKind>(kind: K): readonly RequestOf<K>[] {
    return this.asked
      .map(({ request }) => request)
      .filter((request): request is RequestOf<K> => request.kind === kind)
  }

  /** All received reports. */
  get reports(): readonly RequestOf<'complete' | 'fail'>[] {
    return this.asked
      .map(({ request }) => request)
      .filter((request) => request.kind === 'complete' || request.kind === 'fail')
  }

  /** Drops unanswered requests of closed connections. */
  lost(peer: Peer): void {
    this.#peers.delete(peer)
    this.#open = this.#open.filter((asked) => asked.peer !== peer)
  }

  #withdraw(asked: Asked, of: number): void {
    if (!this.answersWithdrawals) return
    const at = this.#open.findIndex(({ request }) => request.kind === 'lease' && request.id === of)
    if (at !== -1) this.#open.splice(at, 1)[0]!.answer({ kind: 'empty' })
    asked.answer({ kind: 'withdrawn' })
  }
}
