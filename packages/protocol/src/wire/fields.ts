import { ProtocolError } from '../errors.js'

/** Reads the fields of a message one after the other, each as what it must be. */
export class Fields {
  readonly #values: readonly unknown[]
  #index: number

  constructor(values: readonly unknown[], from: number) {
    this.#values = values
    this.#index = from
  }

  whole(name: string, min: number, max: number): number {
    const value = this.#next()
    if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
      throw badField(name, value, `a whole number from ${min} to ${max}`)
    }
    // -0 is whole, and no record takes it.
    return (value as number) + 0
  }

  lsn(name: string): number {
    return this.whole(name, 1, Number.MAX_SAFE_INTEGER)
  }

  text(name: string, min: number, max: number): string {
    const value = this.#next()
    if (typeof value !== 'string' || !isTextOf(value, min, max)) {
      throw badField(name, value, `a text of ${min} to ${max} bytes`)
    }
    return value
  }

  /** One of these texts. */
  word<W extends string>(name: string, words: readonly W[]): W {
    const value = this.#next()
    const word = words.find((one) => one === value)
    if (word === undefined) throw badField(name, value, `one of ${words.join(', ')}`)
    return word
  }

  /** Bytes of its own: whoever decoded the message has copied them. */
  bytes(name: string): Uint8Array {
    const value = this.#next()
    if (!(value instanceof Uint8Array)) throw badField(name, value, 'bytes')
    return value
  }

  boolean(name: string): boolean {
    const value = this.#next()
    if (typeof value !== 'boolean') throw badField(name, value, 'true or false')
    return value
  }

  list(name: string, min: number, max: number): readonly unknown[] {
    const value = this.#next()
    if (!Array.isArray(value) || value.length < min || value.length > max) {
      throw badField(name, value, `a list of ${min} to ${max} values`)
    }
    return value
  }

  map(name: string): { readonly [key: string]: unknown } {
    const value = this.#next()
    if (!isMap(value)) throw badField(name, value, 'a map')
    return value
  }

  /** `undefined` for nil, else what `read` makes of the field. */
  optional<T>(read: (fields: this) => T): T | undefined {
    if (this.#values[this.#index] === null) {
      this.#index++
      return undefined
    }
    return read(this)
  }

  #next(): unknown {
    return this.#values[this.#index++]
  }
}

export function isMap(value: unknown): value is { readonly [key: string]: unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  )
}

export function isTextOf(value: string, min: number, max: number): boolean {
  if (value.length < min || value.length > max) return false
  // No text takes more than three bytes a unit, so a short one need not be measured.
  return value.length * 3 <= max || Buffer.byteLength(value) <= max
}

function badField(name: string, got: unknown, expected: string): ProtocolError {
  const shown =
    typeof got === 'string' ? 'a text' : got instanceof Uint8Array ? 'bytes' : describe(got)
  return new ProtocolError('PROTOCOL_BAD_MESSAGE', `${name} is ${shown}; it must be ${expected}`)
}

/** Names what was sent without repeating it: it may be a payload, or a token in the wrong place. */
function describe(got: unknown): string {
  if (got === undefined) return 'missing'
  if (got === null) return 'nil'
  if (Array.isArray(got)) return `a list of ${got.length} values`
  return typeof got === 'object' ? 'a map' : String(got)
}
