import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import type { Fields } from '../wire/fields.js'
import { checkStructure } from '../wire/guard.js'
import { ListReader, ListWriter } from '../wire/listed-fields.js'
import { packFrame, unpackMessage } from '../wire/msgpack.js'
import { type CopyBytes, TypedReader, TypedWriter } from '../wire/typed-fields.js'
import type { Answer } from './answer.js'
import { answerLayouts } from './answer-layouts.js'
import type { HotLayout, Layout, Message, Unnumbered } from './layout.js'
import type { NewRequest, Request } from './request.js'
import { requestLayouts } from './request-layouts.js'

interface CodecOptions<M extends Message> {
  readonly noun: 'request' | 'answer'
  readonly layouts: { readonly [kind: string]: Layout<M> }
  readonly idMin: number
  /** Copies a bytes field out of a hot message. */
  readonly copy: CopyBytes
  /** Whether encoding a fraction throws a TypeError. */
  readonly isStrict: boolean
}

/**
 * Encodes and decodes the messages of one direction by their layouts. A hot message is read field by field. A
 * rare message is read as a list of values by msgpackr, after the guard has checked it.
 */
export class MessageCodec<M extends Message> {
  readonly #options: CodecOptions<M>
  readonly #byNumber: (Layout<M> | undefined)[] = []
  readonly #reader: TypedReader
  readonly #writer: TypedWriter

  constructor(options: CodecOptions<M>) {
    this.#options = options
    for (const layout of Object.values(options.layouts)) this.#byNumber[layout.number] = layout
    this.#reader = new TypedReader(options.copy)
    this.#writer = new TypedWriter(options.isStrict)
  }

  encode(message: Unnumbered<M> & { readonly kind: string }, id: number): Buffer {
    const layout = this.#options.layouts[message.kind]!
    if (layout.isHot) {
      this.#writer.begin(layout.number, layout.length, id)
      layout.pass(this.#writer, id, message)
      return this.#writer.end()
    }
    const fields = new ListWriter([layout.number, id])
    layout.pass(fields, id, message)
    return packFrame(fields.values, this.#options.isStrict)
  }

  decode<R>(body: Uint8Array, refuse: Refuse<R>): M | R {
    const layout = this.#byNumber[this.#reader.open(body)]
    return layout?.isHot ? this.#decodeHot(body, layout, refuse) : this.#decodeRare(body, refuse)
  }

  #decodeHot<R>(body: Uint8Array, layout: HotLayout<M>, refuse: Refuse<R>): M | R {
    const fields = this.#reader
    let id: number | undefined
    try {
      id = this.#passId(fields)
      requireLength(layout, fields.length)
      const message = layout.pass(fields, id)
      fields.requireEnd()
      return message
    } catch (error) {
      // Malformed MessagePack closes the connection, even if a field is also invalid.
      checkStructure(body, messageLimits)
      return refuse(error, id)
    }
  }

  #decodeRare<R>(body: Uint8Array, refuse: Refuse<R>): M | R {
    const values = unpackMessage(body)
    let id: number | undefined
    try {
      const fields = new ListReader(values, 1)
      id = this.#passId(fields)
      const layout = this.#byNumber[values[0] as number]
      if (layout === undefined) {
        throw wrong(`unknown ${this.#options.noun} type ${values[0]}`)
      }
      requireLength(layout, values.length)
      return layout.pass(fields, id)
    } catch (error) {
      return refuse(error, id)
    }
  }

  #passId(fields: Fields): number {
    return fields.whole('id', undefined, this.#options.idMin, 0xffff_ffff)
  }
}

/** Handles an invalid message. `id` is `undefined` if the id is invalid, too. */
type Refuse<R> = (error: unknown, id: number | undefined) => R

function requireLength({ kind, length }: Layout<Message>, found: number): void {
  if (found !== length) throw wrong(`${kind} has ${found} fields; it must have ${length}`)
}

function wrong(what: string): ProtocolError {
  return new ProtocolError('PROTOCOL_BAD_MESSAGE', what)
}

const requests = new MessageCodec<Request>({
  noun: 'request',
  layouts: requestLayouts,
  idMin: 1,
  copy: (body, start, end) => {
    const copy = Buffer.allocUnsafe(end - start)
    // `subarray` of a Buffer takes longer.
    copy.set(new Uint8Array(body.buffer, body.byteOffset + start, end - start))
    return copy
  },
  isStrict: false,
})

const answers = new MessageCodec<Answer>({
  noun: 'answer',
  layouts: answerLayouts,
  idMin: 0,
  // Not from pooled memory: a worker may keep a payload for long.
  copy: (body, start, end) => Uint8Array.prototype.slice.call(body, start, end),
  isStrict: true,
})

/** Uses the id of the request unless one is passed. */
export function encodeRequest(request: Request): Buffer
export function encodeRequest(request: NewRequest, id: number): Buffer
export function encodeRequest(request: Request | NewRequest, id = (request as Request).id): Buffer {
  return requests.encode(request, id)
}

/** An invalid request with a readable id, so that the coordinator can answer it. */
export interface MalformedRequest {
  readonly kind: 'malformed'
  readonly id: number
  readonly message: string
}

export function decodeRequest(body: Uint8Array): Request | MalformedRequest {
  return requests.decode(body, toMalformed)
}

function toMalformed(error: unknown, id: number | undefined): MalformedRequest {
  if (id === undefined || !(error instanceof ProtocolError)) throw error
  return { kind: 'malformed', id, message: error.message }
}

export function encodeAnswer(answer: Answer): Buffer {
  return answers.encode(answer, answer.id)
}

export function decodeAnswer(body: Uint8Array): Answer {
  return answers.decode(body, rethrow)
}

function rethrow(error: unknown): never {
  throw error
}
