import { messageLimits } from '../limits.js'
import type { Answer } from '../messages/answer.js'
import {
  decodeHello,
  encodeWelcome,
  type Hello,
  type OtherVersion,
  type Welcome,
} from '../messages/handshake.js'
import { decodeRequest, encodeAnswer, type MalformedRequest } from '../messages/message-codec.js'
import type { Reason } from '../messages/reasons.js'
import { isPoll, type Request } from '../messages/request.js'
import { FrameDecoder } from '../wire/frame.js'

export interface ConnectionLimits {
  readonly frameBytesMax: number
  /** Beyond them the next request is not read before an answer has been given. */
  readonly requestsInFlightMax: number
  /** From the first byte possible to the end of the hello. */
  readonly handshakeMs: number
  /** From the first byte of a frame to its last. */
  readonly frameMs: number
}

/** What has arrived. */
export type Arrival =
  | { readonly kind: 'hello'; readonly hello: Hello | OtherVersion }
  | {
      readonly kind: 'request'
      readonly request: Request | MalformedRequest
      /** What it took in its frame. */
      readonly bytes: number
    }

/**
 * The coordinator's side of one connection, without a socket: it takes bytes and time, and gives
 * what has arrived and the bytes to be sent.
 *
 *     greeting ──welcome──▶ open
 *
 * In `greeting` nothing but a hello, in a small frame, is understood. Whatever throws a
 * ProtocolError ends the connection.
 */
export class ServerConnection {
  readonly #limits: ConnectionLimits
  readonly #decoder = new FrameDecoder(messageLimits.helloBytesMax)
  #mode: 'greeting' | 'open' = 'greeting'
  #inFlight = 0
  #polls = 0
  /** When what is awaited must have come, in the caller's time. */
  #deadline: number | undefined

  constructor(limits: ConnectionLimits, now: number) {
    this.#limits = limits
    this.#deadline = now + limits.handshakeMs
  }

  get isOpen(): boolean {
    return this.#mode === 'open'
  }

  /** Requests that were given out and have no answer yet, without the polls. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** The same of polls, which are not what makes a connection full. */
  get polls(): number {
    return this.#polls
  }

  /** Whether reading should pause: enough has been asked and not been answered. */
  get isFull(): boolean {
    return this.#inFlight >= this.#limits.requestsInFlightMax
  }

  /** Whether something has arrived that was not given out: a part of a message, or more. */
  get isInside(): boolean {
    return this.#decoder.isInside
  }

  isOverdue(now: number): boolean {
    return this.#deadline !== undefined && now >= this.#deadline
  }

  push(bytes: Uint8Array, now: number): void {
    this.#decoder.push(bytes)
    if (this.#mode === 'open' && this.#decoder.isInside)
      this.#deadline ??= now + this.#limits.frameMs
  }

  /** The next message, or `undefined` when there is none yet, or the connection is full. */
  next(now: number): Arrival | undefined {
    if (this.#mode === 'open' && this.isFull) {
      this.hold()
      return undefined
    }
    const body = this.#decoder.next()
    if (body === undefined) {
      if (this.#mode === 'open' && this.#decoder.isInside)
        this.#deadline ??= now + this.#limits.frameMs
      return undefined
    }
    if (this.#mode === 'greeting') return { kind: 'hello', hello: decodeHello(body) }
    this.#deadline = undefined
    const request = decodeRequest(body)
    if (isPoll(request)) this.#polls++
    else this.#inFlight++
    return { kind: 'request', request, bytes: body.length }
  }

  /**
   * The peer is made to wait, and whoever is made to wait is not late: what it has begun has its
   * whole time again when `next` is called again.
   */
  hold(): void {
    if (this.#mode === 'open') this.#deadline = undefined
  }

  /** Bytes that let the peer in. From here on it may ask. */
  welcome(welcome: Welcome): Buffer {
    this.#mode = 'open'
    this.#deadline = undefined
    this.#decoder.allow(this.#limits.frameBytesMax)
    return encodeWelcome(welcome)
  }

  /** Bytes that answer one of the requests in flight, or one of the polls. */
  answer(answer: Answer, toPoll = false): Buffer {
    if (toPoll) this.#polls--
    else this.#inFlight--
    return encodeAnswer(answer)
  }

  /** Bytes that say why the connection ends now. */
  static farewell(reason: Reason, message: string): Buffer {
    return encodeAnswer({ kind: 'rejected', id: 0, reason, message })
  }
}
