import { expected, type Facts, type Fields, isTextOf, isWholeOf, wrongField } from './fields.js'

/** The fields of a rare message, as a list of values that msgpackr reads or writes. */
export interface ListedFields extends Fields {
  /** One of these strings. */
  word<W extends string>(name: string, value: W | undefined, words: readonly W[]): W
  nested(name: string, length: number): ListedFields
}

/** Reads fields from the values of a message, or of a list inside it. */
export class ListReader implements ListedFields {
  readonly #values: readonly unknown[]
  #index: number

  constructor(values: readonly unknown[], from: number) {
    this.#values = values
    this.#index = from
  }

  whole(name: string, _value: number | undefined, min: number, max: number): number {
    const value = this.#next()
    if (!isWholeOf(value, min, max)) throw wrong(name, value, expected.whole(min, max))
    // Turns -0 into 0: records accept only 0.
    return value + 0
  }

  text(name: string, _value: string | undefined, min: number, max: number): string {
    const value = this.#next()
    if (typeof value === 'string' && isTextOf(value, min, max)) return value
    throw wrong(name, value, expected.text(min, max))
  }

  word<W extends string>(name: string, _value: W | undefined, words: readonly W[]): W {
    const value = this.#next()
    const word = words.find((one) => one === value)
    if (word === undefined) throw wrong(name, value, `one of ${words.join(', ')}`)
    return word
  }

  bytes(name: string): Uint8Array {
    const value = this.#next()
    if (value instanceof Uint8Array) return value
    throw wrong(name, value, expected.bytes)
  }

  boolean(name: string): boolean {
    const value = this.#next()
    if (typeof value === 'boolean') return value
    throw wrong(name, value, expected.boolean)
  }

  facts(name: string): Facts {
    const value = this.#next()
    if (isMap(value)) return value
    throw wrong(name, value, expected.map)
  }

  has(): boolean {
    if (this.#values[this.#index] !== null) return true
    this.#index++
    return false
  }

  nested(name: string, length: number): ListReader {
    return new ListReader(this.#list(name, length, length), 0)
  }

  list<T>(
    name: string,
    _values: readonly T[] | undefined,
    min: number,
    max: number,
    pass: (fields: this, value: T | undefined) => T,
  ): readonly T[] {
    const values = this.#list(name, min, max)
    const own = new ListReader(values, 0) as this
    return values.map(() => pass(own, undefined))
  }

  #list(name: string, min: number, max: number): readonly unknown[] {
    const value = this.#next()
    if (Array.isArray(value) && value.length >= min && value.length <= max) return value
    throw wrong(name, value, expected.list(min, max))
  }

  #next(): unknown {
    return this.#values[this.#index++]
  }
}

/** Collects the values of a message, or of a list inside it. */
export class ListWriter implements ListedFields {
  readonly values: unknown[]

  constructor(values: unknown[]) {
    this.values = values
  }

  whole(_name: string, value: number | undefined): number {
    return this.#put(value)
  }

  text(_name: string, value: string | undefined): string {
    return this.#put(value)
  }

  word<W extends string>(_name: string, value: W | undefined): W {
    return this.#put(value)
  }

  bytes(_name: string, value: Uint8Array | undefined): Uint8Array {
    return this.#put(value)
  }

  boolean(_name: string, value: boolean | undefined): boolean {
    return this.#put(value)
  }

  facts(_name: string, value: Facts | undefined): Facts {
    return this.#put(value)
  }

  has(value: unknown): boolean {
    if (value !== undefined && value !== null) return true
    this.values.push(null)
    return false
  }

  nested(): ListWriter {
    return new ListWriter(this.#put([]))
  }

  list<T>(
    _name: string,
    values: readonly T[] | undefined,
    _min: number,
    _max: number,
    pass: (fields: this, value: T | undefined) => T,
  ): readonly T[] {
    const list = values as readonly T[]
    const own = this.nested() as this
    for (const value of list) pass(own, value)
    return list
  }

  #put<T>(value: T | undefined): T {
    this.values.push(value)
    return value as T
  }
}

function isMap(value: unknown): value is Facts {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  )
}

function wrong(name: string, got: unknown, wanted: string): Error {
  return wrongField(name, describe(got), wanted)
}

/** Describes a value without repeating strings or bytes. */
function describe(got: unknown): string {
  if (got === undefined) return 'missing'
  if (got === null) return 'nil'
  if (typeof got === 'string') return 'a string'
  if (got instanceof Uint8Array) return 'bytes'
  if (Array.isArray(got)) return `a list of ${got.length} values`
  return typeof got === 'object' ? 'a map' : String(got)
}
