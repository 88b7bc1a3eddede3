import { messageLimits, protocolVersion } from '../limits.js'
import type { Answer } from '../messages/answer.js'
import {
  decodeWelcome,
  encodeHello,
  type Hello,
  type Refusal,
  type Welcome,
} from '../messages/handshake.js'
import { decodeAnswer } from '../messages/message-codec.js'
import { FrameDecoder } from '../wire/frame.js'

export type Reply =
  | { readonly kind: 'welcome'; readonly welcome: Welcome }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'answer'; readonly answer: Answer }

/**
 * The client's side of one connection, without a socket. After its hello, the first reply is a welcome or a
 * refusal; every later reply is an answer. An answer with the id 0 belongs to no request: it says why the
 * coordinator closes the connection. So request ids start at 1.
 */
export class ClientConnection {
  readonly #decoder = new FrameDecoder(messageLimits.helloBytesMax)
  #mode: 'greeting' | 'open' = 'greeting'

  /** The first bytes to send. */
  static hello(hello: Omit<Hello, 'version'>): Buffer {
    return encodeHello({ ...hello, version: protocolVersion })
  }

  push(bytes: Uint8Array): void {
    this.#decoder.push(bytes)
  }

  /** Copies an incomplete message out of the pushed memory, before the caller reuses that memory. */
  keep(): void {
    this.#decoder.keep()
  }

  next(): Reply | undefined {
    const body = this.#decoder.next()
    if (body === undefined) return undefined
    if (this.#mode === 'open') return { kind: 'answer', answer: decodeAnswer(body) }
    const reply = decodeWelcome(body)
    if ('reason' in reply) return { kind: 'refused', refusal: reply }
    this.#mode = 'open'
    this.#decoder.allow(reply.limits.frameBytesMax)
    return { kind: 'welcome', welcome: reply }
  }
}
