import { readFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
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
  type Welcome,
} from '@tenure/protocol'
import { isPoll } from '@tenure/protocol/internal'

export const limits: Limits = {
  frameBytesMax: 100_000,
  payloadBytesMax: 90_000,
  resultBytesMax: 5000,
  requestsInFlightMax: 100,
  pollsPerConnectionMax: 50,
  waitMsMax: 60_000,
}

export interface ServerOptions {
  /** Handles a hello. Default: it is welcomed. */
  readonly greet?: (peer: Peer, hello: Hello | OtherVersion) => void
  /** Answers requests immediately; unanswered ones wait for `request`. */
  readonly answer?: (asked: Asked) => AnswerOf | undefined
  readonly limits?: Partial<Limits>
  readonly epoch?: number
  readonly log?: string
  readonly tls?: boolean
  readonly port?: number
}

type WithoutId<A> = A extends Answer ? Omit<A, 'id'> : never
/** An answer as a script writes it. */
export type AnswerOf = WithoutId<Answer>

/** One connection, seen from the coordinator. */
export class Peer {
  readonly socket: Socket
  readonly protocol: ServerConnection
  readonly #server: ScriptedServer

  constructor(server: ScriptedServer, socket: Socket) {
    this.#server = server
    this.socket = socket
    const { frameBytesMax, requestsInFlightMax } = server.limits
    const never = Number.POSITIVE_INFINITY
    const times = { handshakeMs: never, frameMs: never }
    this.protocol = new ServerConnection({ frameBytesMax, requestsInFlightMax, ...times }, 0)
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      this.protocol.push(bytes, 0)
      this.pump()
    })
  }

  welcome(welcome: Partial<Welcome> = {}): void {
    this.socket.write(
      this.protocol.welcome({
        version: 1,
        epoch: this.#server.epoch,
        leaseDurationMs: 30_000,
        heartbeatIntervalMs: 10_000,
        syncMode: 'always',
        limits: this.#server.limits,
        log: this.#server.log,
        ...welcome,
      }),
    )
  }

  refuse(reason: Reason, active?: string): void {
    this.socket.end(ServerConnection.farewell(reason, `because ${reason}`, active))
  }

  cut(): void {
    this.socket.destroy()
  }

  pump(): void {
    for (;;) {
      const arrival = this.protocol.next(0)
      if (arrival === undefined) return
      if (arrival.kind === 'hello') this.#server.greet(this, arrival.hello)
      else this.#server.arrived(new Asked(this, arrival.request))
    }
  }
}

/** A request that waits for its answer. */
export class Asked<R extends Request = Request> {
  readonly peer: Peer
  readonly request: R

  constructor(peer: Peer, request: R | MalformedRequest) {
    if (request.kind === 'malformed') throw new Error(request.message)
    this.peer = peer
    this.request = request
  }

  answer(answer: AnswerOf): void {
    const whole = { ...answer, id: this.request.id } as Answer
    this.peer.socket.write(this.peer.protocol.answer(whole, isPoll(this.request)))
    this.peer.pump()
  }
}

/** A coordinator on its own port that the test scripts. */
export class ScriptedServer {
  readonly limits: Limits
  readonly epoch: number
  readonly log: string
  readonly peers: Peer[] = []
  readonly hellos: (Hello | OtherVersion)[] = []
  readonly #options: ServerOptions
  readonly #server: Server
  readonly #asked: Asked[] = []
  readonly #waiting: { kind: RequestKind; resolve: (asked: Asked) => void }[] = []
  readonly #peerWaiters: (() => void)[] = []

  static async start(options: ServerOptions = {}): Promise<ScriptedServer> {
    const server = new ScriptedServer(options)
    await new Promise<void>((resolve) => {
      server.#server.listen(options.port ?? 0, '127.0.0.1', resolve)
    })
    return server
  }

  private constructor(options: ServerOptions) {
    this.#options = options
    this.limits = { ...limits, ...options.limits }
    this.epoch = options.epoch ?? 1
    this.log = options.log ?? 'ab'.repeat(16)
    const accept = (socket: Socket) => {
      this.peers.push(new Peer(this, socket))
      for (const wake of this.#peerWaiters.splice(0)) wake()
    }
    this.#server = options.tls
      ? createTlsServer({ cert: fixture('certificate.pem'), key: fixture('key.pem') }, accept)
      : createServer(accept)
    // A client that does not trust the certificate hangs up.
    this.#server.on('tlsClientError', () => undefined)
  }

  get port(): number {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the server is closed')
    return address.port
  }

  get endpoint(): string {
    return `127.0.0.1:${this.port}`
  }

  get latest(): Peer {
    const peer = this.peers.at(-1)
    if (peer === undefined) throw new Error('no client has connected')
    return peer
  }

  /** The connection with this number, counted from 1. */
  async peer(number: number): Promise<Peer> {
    while (this.peers.length < number) {
      await new Promise<void>((resolve) => this.#peerWaiters.push(resolve))
    }
    return this.peers[number - 1]!
  }

  /** The next request of this kind, received already or later. */
  request<K extends RequestKind>(kind: K): Promise<Asked<RequestOf<K>>> {
    const at = this.#asked.findIndex(({ request }) => request.kind === kind)
    const here = at === -1 ? undefined : this.#asked.splice(at, 1)[0]
    if (here !== undefined) return Promise.resolve(here as Asked<RequestOf<K>>)
    return new Promise((resolve) => {
      this.#waiting.push({ kind, resolve: (asked) => resolve(asked as Asked<RequestOf<K>>) })
    })
  }

  /** Received requests that no test has taken. */
  get unanswered(): readonly Asked[] {
    return this.#asked
  }

  greet(peer: Peer, hello: Hello | OtherVersion): void {
    this.hellos.push(hello)
    if (this.#options.greet === undefined) peer.welcome()
    else this.#options.greet(peer, hello)
  }

  arrived(asked: Asked): void {
    const answer = this.#options.answer?.(asked)
    if (answer !== undefined) {
      asked.answer(answer)
      return
    }
    const at = this.#waiting.findIndex(({ kind }) => kind === asked.request.kind)
    if (at === -1) this.#asked.push(asked)
    else this.#waiting.splice(at, 1)[0]!.resolve(asked)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const { socket } of this.peers) socket.destroy()
    await closed
  }
}

export function fixture(name: string): string {
  return readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url), 'utf8')
}
