import { Unreadable, ValueReader, ValueWriter } from '@tenure/values'
import type { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { expected, type Facts, type Fields, isTextOf, requireWhole, wrongField } from './fields.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'
import { packMap, unpackMap } from './msgpack.js'

/** Copies a part of a message. */
export type CopyBytes = (body: Uint8Array, start: number, end: number) => Uint8Array

/**
 * Reads fields directly from the bytes of a message, in every MessagePack spelling, and allocates only the
 * fields. Malformed bytes throw `Unreadable`; `checkStructure` then says what is wrong.
 */
export class TypedReader implements Fields {
  readonly #reader = new ValueReader('any')
  readonly #copy: CopyBytes
  #body: Uint8Array = new Uint8Array()
  #length = 0

  constructor(copy: CopyBytes) {
    this.#copy = copy
  }

  /** Starts a message and returns its type, or -1 if it is not a list that begins with a number. */
  open(body: Uint8Array): number {
    this.#body = body
    try {
      this.#reader.begin(body)
      this.#length = this.#reader.list()
      return this.#reader.number() ?? -1
    } catch (error) {
      if (error instanceof Unreadable) return -1
      throw error
    }
  }

  /** Number of values in the message, including its type. */
  get length(): number {
    return this.#length
  }

  requireEnd(): void {
    this.#reader.requireEnd()
  }

  whole(name: string, _value: number | undefined, min: number, max: number): number {
    const value = this.#reader.number()
    if (value !== undefined && value >= min && value <= max) {
      // Most numbers have 32 bits or fewer. This also turns -0 into 0: records accept only 0.
      const word = value >>> 0
      if (word === value) return word
      if (Number.isInteger(value)) return value
    }
    throw this.#wrongWhole(name, value, min, max)
  }

  text(name: string, _value: string | undefined, min: number, max: number): string {
    if (this.#reader.kind !== 'text') throw this.#wrong(name, expected.text(min, max))
    const value = this.#reader.text()
    if (!isTextOf(value, min, max)) throw wrongField(name, 'a string', expected.text(min, max))
    return value
  }

  bytes(name: string): Uint8Array {
    if (this.#reader.kind !== 'bytes') throw this.#wrong(name, expected.bytes)
    return this.#reader.bytesBy(this.#copy)
  }

  boolean(name: string): boolean {
    if (this.#reader.kind !== 'boolean') throw this.#wrong(name, expected.boolean)
    return this.#reader.boolean()
  }

  /** Rare, so msgpackr reads the rest of the message after the guard has checked the whole. */
  facts(name: string): Facts {
    if (this.#reader.kind !== 'map') throw this.#wrong(name, expected.map)
    checkStructure(this.#body, messageLimits)
    return unpackMap(this.#reader.rest())
  }

  has(): boolean {
    return !this.#reader.takeNil()
  }

  nested(name: string, length: number): this {
    this.#count(name, length, length)
    return this
  }

  list<T>(
    name: string,
    _values: readonly T[] | undefined,
    min: number,
    max: number,
    pass: (fields: this, value: T | undefined) => T,
  ): readonly T[] {
    const count = this.#count(name, min, max)
    const values: T[] = []
    while (values.length < count) values.push(pass(this, undefined))
    return values
  }

  #count(name: string, min: number, max: number): number {
    if (this.#reader.kind !== 'list') throw this.#wrong(name, expected.list(min, max))
    const count = this.#reader.list()
    if (count >= min && count <= max) return count
    throw wrongField(name, `a list of ${count} values`, expected.list(min, max))
  }

  #wrongWhole(name: string, value: number | undefined, min: number, max: number): ProtocolError {
    return wrongField(name, `${value ?? this.#describe()}`, expected.whole(min, max))
  }

  #wrong(name: string, wanted: string): ProtocolError {
    return wrongField(name, this.#describe(), wanted)
  }

  #describe(): string {
    const { kind = 'missing' } = this.#reader
    switch (kind) {
      case 'number':
        return `${this.#reader.number()}`
      case 'boolean':
        return `${this.#reader.boolean()}`
      case 'list':
        return `a list of ${this.#reader.list()} values`
      case 'text':
        return 'a string'
      case 'map':
        return 'a map'
      default:
        return kind
    }
  }
}

/** Writes fields directly into a frame, each in the shortest spelling. */
export class TypedWriter implements Fields {
  readonly #writer = new ValueWriter()
  readonly #isStrict: boolean

  /** A strict writer throws a TypeError for a fraction. */
  constructor(isStrict: boolean) {
    this.#isStrict = isStrict
  }

  /** Starts a frame with the type and the id of the message. */
  begin(type: number, length: number, id: number): void {
    this.#writer.begin(frameHeadBytes)
    this.#writer.list(length)
    this.#writer.number(type)
    this.whole('id', id)
  }

  /** Returns the frame, which belongs to the caller: its memory is not reused. */
  end(): Buffer {
    const frame = this.#writer.end()
    // `writeUInt32BE` spends more time checking its arguments than writing.
    const length = frame.length - frameHeadBytes
    frame[0] = length >>> 24
    frame[1] = length >>> 16
    frame[2] = length >>> 8
    frame[3] = length
    return frame
  }

  whole(_name: string, value: number | undefined): number {
    if (this.#isStrict) requireWhole(value as number)
    if (typeof value !== 'number') return this.#put(value)
    this.#writer.number(value)
    return value
  }

  text(_name: string, value: string | undefined): string {
    if (typeof value !== 'string') return this.#put(value)
    this.#writer.text(value)
    return value
  }

  bytes(_name: string, value: Uint8Array | undefined): Uint8Array {
    if (!(value instanceof Uint8Array)) return this.#put(value)
    this.#writer.bytes(value)
    return value
  }

  boolean(_name: string, value: boolean | undefined): boolean {
    return this.#put(value)
  }

  facts(_name: string, value: Facts | undefined): Facts {
    const map = value as Facts
    this.#writer.encoded(packMap(map, this.#isStrict))
    return map
  }

  has(value: unknown): boolean {
    if (value !== undefined && value !== null) return true
    this.#writer.nil()
    return false
  }

  nested(_name: string, length: number): this {
    this.#writer.list(length)
    return this
  }

  list<T>(
    _name: string,
    values: readonly T[] | undefined,
    _min: number,
    _max: number,
    pass: (fields: this, value: T | undefined) => T,
  ): readonly T[] {
    const list = values as readonly T[]
    this.#writer.list(list.length)
    for (const value of list) pass(this, value)
    return list
  }
  /**
   * Writes a value of the wrong type unchanged. A JavaScript caller may pass one, and the peer then reports
   * the field.
   */
  #put<T>(value: unknown): T {
    this.#writer.value(value)
    return value as T
  }
}
