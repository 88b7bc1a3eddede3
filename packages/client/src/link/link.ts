import {
  type Answer,
  encodeRequest,
  type Limits,
  type NewRequest,
  type Welcome,
} from '@tenure/protocol'
import { frameHeadBytes } from '@tenure/protocol/internal'
import type { Clock, Random } from '@tenure/seams'
import { Dialer } from '../connection/dialer.js'
import { check, protocolError, RejectedError, TenureError } from '../errors.js'
import { Aborts } from './aborts.js'
import { Call, type Settle } from './call.js'
import { aborted, closed, lost, timedOut, unreachable, withheld } from './call-errors.js'
import { Deadlines } from './deadlines.js'
import { type CallOptions, checkLimit, type RequestOptions } from './limit.js'
import { type LinkOptions, type LinkSettings, resolveLinkOptions } from './options.js'
import { type PendingRequest, RequestTable } from './request-table.js'
import { Waiters } from './waiters.js'

/**
 * A logical connection to a coordinator that reconnects as needed. It numbers requests, limits those in
 * flight to the coordinator's limits, and matches answers to requests.
 */
export class Link {
  readonly #settings: LinkSettings
  readonly #dialer: Dialer
  readonly #table = new RequestTable()
  readonly #aborts = new Aborts()
  readonly #deadlines: Deadlines<Call>
  readonly #onCallOver = (call: Call) => {
    this.#deadlines.remove(call, call.timeoutMs)
    call.forgetSignal?.()
  }
  /** Callers that wait for a connection. */
  readonly #awaitingConnection: Waiters<Welcome>
  readonly #pauses: Waiters<void>
  #welcome: Welcome | undefined
  #isClosed = false
  /** Set when the coordinator has another log, which ends the link for good. */
  #otherLog: TenureError | undefined

  constructor(settings: LinkSettings) {
    this.#settings = settings
    const { observer, clock } = settings
    this.#awaitingConnection = new Waiters(clock, this.#aborts)
    this.#pauses = new Waiters(clock, this.#aborts)
    this.#deadlines = new Deadlines(clock, settings.requestTimeoutMs, (call) =>
      this.#giveUp(call, this.#explainTimeout(call.timeoutMs, call)),
    )
    this.#dialer = new Dialer(settings, {
      connected: (welcome, endpoint) => this.#onConnected(welcome, endpoint),
      answered: (answer) => this.#onAnswered(answer),
      writable: () => this.#flush(),
      probe: () => this.#makeProbe(),
      disconnected: (error) => this.#onDisconnected(error),
      attemptFailed: (failure) => observer.attemptFailed?.(failure),
      refused: (error) => this.#onRefused(error),
    })
  }

  get isConnected(): boolean {
    return this.#dialer.open !== undefined
  }

  /** The coordinator's most recent welcome. */
  get welcome(): Welcome | undefined {
    return this.#welcome
  }

  get limits(): Limits | undefined {
    return this.#welcome?.limits
  }

  get epoch(): number | undefined {
    return this.#welcome?.epoch
  }

  /** The default timeout of a request. */
  get requestTimeoutMs(): number {
    return this.#settings.requestTimeoutMs
  }

  /** Exposed for code that builds on a link. */
  get clock(): Clock {
    return this.#settings.clock
  }

  get random(): Random {
    return this.#settings.random
  }

  /** Resolves to any answer, rejections included. */
  request(request: NewRequest, options: RequestOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#ask(request, options, (outcome) => {
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      })
    })
  }

  /**
   * Like `request`, but without a promise, which costs as much as the rest of a request. `settle` is called
   * once, after this returns; an invalid request also arrives there as an error. Exceptions from `settle` or a
   * hook become uncaught exceptions and do not affect other calls.
   */
  ask(request: NewRequest, options: RequestOptions, settle: Settle): void {
    try {
      this.#ask(request, options, settle)
    } catch (error) {
      if (!(error instanceof TenureError)) throw error
      queueMicrotask(() => settle(error, options.wasSent ?? false))
    }
  }

  #ask(request: NewRequest, options: RequestOptions, settle: Settle): void {
    const { signal, timeoutMs = this.requestTimeoutMs } = options
    this.#assertUsable(options)
    const id = this.#table.takeId()
    const frame = encode(request, id)
    const call = new Call(id, request, frame, options, timeoutMs, this.#onCallOver, settle)
    this.#deadlines.add(call, timeoutMs)
    if (signal !== undefined) {
      call.forgetSignal = this.#aborts.on(signal, () => this.#giveUp(call, aborted(signal, call)))
    }
    this.#table.add(call)
    this.#dialer.start()
    this.#flush()
  }

  /** Resolves when there is a connection. */
  async ready(options: CallOptions = {}): Promise<Welcome> {
    this.#assertUsable(options)
    if (this.isConnected && this.#welcome !== undefined) return this.#welcome
    const connected = this.#awaitingConnection.wait(options, () =>
      unreachable(options.timeoutMs, this.#dialer.lastError),
    )
    this.#dialer.start()
    return connected
  }

  /** Resolves after the time has passed; `close` and the signal reject it. */
  async pause(pauseMs: number, { signal }: Pick<CallOptions, 'signal'> = {}): Promise<void> {
    this.#assertUsable({ signal })
    await this.#pauses.wait({ signal, timeoutMs: pauseMs }, () => undefined)
  }

  /** Rejects all pending calls. Resolves when the socket is closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    const stopped = this.#dialer.stop(closed())
    for (const request of [...this.#table.connectionLost(), ...this.#table.clearQueue()]) {
      request.settle(closed(request))
    }
    this.#deadlines.clear()
    this.#awaitingConnection.failed(closed())
    this.#pauses.failed(closed())
    await stopped
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #assertUsable(options: CallOptions): void {
    if (this.#isClosed) throw closed()
    if (this.#otherLog !== undefined) throw this.#otherLog
    checkLimit(options)
    if (options.signal?.aborted) throw aborted(options.signal)
  }

  #giveUp(call: Call, why: TenureError): void {
    const isInFlight = this.#table.abandon(call)
    call.settle(why)
    // A task granted now would sit idle until its lease expired.
    if (isInFlight && call.isPoll) this.ask({ kind: 'withdraw', of: call.id }, {}, ignore)
  }

  #explainTimeout(timeoutMs: number, request: PendingRequest): TenureError {
    if (this.isConnected) return timedOut(timeoutMs, request)
    const { lastError } = this.#dialer
    if (request.wasSent) return lost(lastError, request)
    return unreachable(timeoutMs, lastError, request)
  }

  #onConnected(welcome: Welcome, endpoint: string): void {
    this.#welcome = welcome
    this.#table.connected(welcome.limits)
    this.#settings.observer.connected?.(welcome, endpoint)
    this.#awaitingConnection.happened(welcome)
    this.#flush()
  }

  #onAnswered(answer: Answer): void {
    const { known, request } = this.#table.answered(answer.id)
    if (!known) {
      const message = `the coordinator answered request ${answer.id} with ${answer.kind}, but this request was never sent`
      this.#dialer.open?.end(protocolError(message))
      return
    }
    request?.settle(answer)
    this.#flush()
  }

  #onDisconnected(error: TenureError): void {
    for (const request of this.#table.connectionLost()) request.settle(lost(error, request))
    this.#settings.observer.disconnected?.(error)
  }

  #onRefused(error: TenureError): void {
    if (error.code === 'CLIENT_OTHER_LOG') this.#otherLog = error
    for (const request of this.#table.clearQueue()) {
      request.settle(request.wasSent ? lost(error, request) : error)
    }
    this.#awaitingConnection.failed(error)
  }

  /** Sends queued requests as far as the limits allow. */
  #flush(): void {
    for (;;) {
      const connection = this.#dialer.open
      const request = connection?.isWritable ? this.#table.next() : undefined
      if (connection === undefined || request === undefined) return
      const refusal = this.#refuse(request)
      if (refusal === undefined) {
        request.sent()
        connection.write(request.frame)
      } else {
        this.#table.answered(request.id)
        request.settle(refusal)
      }
    }
  }

  /** The error for a request that must not be sent, if any. */
  #refuse(request: PendingRequest): TenureError | undefined {
    if (!request.maySend) return withheld(request)
    const { frame, requestId, wasSent: outcomeUnknown } = request
    // The coordinator would close the connection after an oversized frame, and fail all other requests on it.
    const bytes = frame.length - frameHeadBytes
    const bytesMax = this.limits?.frameBytesMax ?? 0
    if (bytes <= bytesMax) return undefined
    const message = `the request has ${bytes} bytes; the maximum is ${bytesMax}`
    return new RejectedError({ reason: 'TOO_LARGE', message }, { requestId, outcomeUnknown })
  }

  #makeProbe(): Uint8Array | undefined {
    const id = this.#table.probe()
    return id === undefined ? undefined : encodeRequest({ kind: 'ping', id })
  }
}

/** The answer to a withdrawal does not matter. */
const ignore = () => undefined

function encode(request: NewRequest, id: number): Uint8Array {
  try {
    return encodeRequest(request, id)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    const message = `the request cannot be encoded: ${error.message}`
    throw new TenureError('CLIENT_BAD_ARGUMENT', message, { cause: error })
  }
}

/** Opens a link and waits for its first connection; on failure everything is closed again. */
export async function openLink(
  options: LinkOptions,
  call: Pick<CallOptions, 'signal'> = {},
): Promise<Link> {
  check.names('call', call, ['signal'])
  const settings = resolveLinkOptions(options)
  const link = new Link(settings)
  try {
    await link.ready({ signal: call.signal, timeoutMs: settings.connectTimeoutMs })
    return link
  } catch (error) {
    await link.close()
    throw error
  }
}
