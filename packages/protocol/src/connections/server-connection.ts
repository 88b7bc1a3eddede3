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
  /** At this many unanswered requests, `next` returns no more until one is answered. */
  readonly requestsInFlightMax: number
  /** Time from the connection to the end of the hello. */
  readonly handshakeMs: number
  /** Time from the first to the last byte of a frame. */
  readonly frameMs: number
}

/** A received message. */
export type Arrival =
  | { readonly kind: 'hello'; readonly hello: Hello | OtherVersion }
  | {
      readonly kind: 'request'
      readonly request: Request | MalformedRequest
      /** Size of the frame's body. */
      readonly bytes: number
    }

/**
 * The coordinator's side of one connection, without a socket. The caller passes in bytes and the
 * time, and gets messages and bytes to send.
 *
 *     greeting ──welcome──▶ open
 *
 * In `greeting` only a hello in a small frame is accepted. Every ProtocolError ends the connection.
 */
export class ServerConnection {
  readonly #limits: ConnectionLimits
  readonly #decoder = new FrameDecoder(messageLimits.helloBytesMax)
  #mode: 'greeting' | 'open' = 'greeting'
  #inFlight = 0
  #polls = 0
  /** When the hello or the current frame must be complete, in the caller's time. */
  #deadline: number | undefined

  constructor(limits: ConnectionLimits, now: number) {
    this.#limits = limits
    this.#deadline = now + limits.handshakeMs
  }

  get isOpen(): boolean {
    return this.#mode === 'open'
  }

  /** Number of unanswered requests, not counting polls. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** Number of unanswered polls. They do not make a connection full. */
  get polls(): number {
    return this.#polls
  }

  /** Whether the caller should stop reading until requests are answered. */
  get isFull(): boolean {
    return this.#inFlight >= this.#limits.requestsInFlightMax
  }

  /** Whether bytes have arrived that `next` has not returned yet. */
  get hasUnreadBytes(): boolean {
    return this.#decoder.hasUnreadBytes
  }

  isOverdue(now: number): boolean {
    return this.#deadline !== undefined && now >= this.#deadline
  }

  push(bytes: Uint8Array, now: number): void {
    this.#decoder.push(bytes)
    if (this.#mode === 'open' && this.#decoder.hasUnreadBytes)
      this.#deadline ??= now + this.#limits.frameMs
  }

  /** The next message. `undefined` if none is complete, or if the connection is full. */
  next(now: number): Arrival | undefined {
    if (this.#mode === 'open' && this.isFull) {
      this.suspendFrameTimeout()
      return undefined
    }
    const body = this.#decoder.next()
    if (body === undefined) {
      if (this.#mode === 'open' && this.#decoder.hasUnreadBytes)
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
   * Suspends the frame timeout while the peer has to wait for answers. The next call of `next` starts it
   * anew.
   */
  suspendFrameTimeout(): void {
    if (this.#mode === 'open') this.#deadline = undefined
  }

  /** Encodes the welcome. Requests are accepted from now on. */
  welcome(welcome: Welcome): Buffer {
    this.#mode = 'open'
    this.#deadline = undefined
    this.#decoder.allow(this.#limits.frameBytesMax)
    return encodeWelcome(welcome)
  }

  /** Encodes the answer to a request, or to a poll. */
  answer(answer: Answer, toPoll = false): Buffer {
    if (toPoll) this.#polls--
    else this.#inFlight--
    return encodeAnswer(answer)
  }

  /** Encodes the reason why the connection is closed. `active` is the address of the active coordinator. */
  static farewell(reason: Reason, message: string, active?: string): Buffer {
    return encodeAnswer({ kind: 'rejected', id: 0, reason, message, active })
  }
}
