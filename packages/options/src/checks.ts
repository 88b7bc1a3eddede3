/** Both ends are allowed. */
export type Range = readonly [min: number, max: number]

/** The longest duration that is allowed, about a thousand years: a time plus a duration stays exact. */
export const longestMs = 2 ** 45

/** The largest count that is allowed. */
export const largestCount = 2 ** 31 - 1

/**
 * Checks what a caller gives, since JavaScript has no types to do it. Each package makes one with its
 * own error. A check returns the value, or throws an error whose message names the path of the
 * option, the value and what is allowed.
 */
export class Checks<E extends Error> {
  readonly #makeError: (message: string) => E

  constructor(makeError: (message: string) => E) {
    this.#makeError = makeError
  }

  /** The error of a check that a package makes itself. */
  refusal(path: string, got: string, expected: string): E {
    return this.#makeError(`${path} is ${got}; it must be ${expected}`)
  }

  /** Shows only what kind of value it is: in the place of TLS options it may be a key. */
  object(path: string, value: unknown): object {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
    throw this.refusal(path, kindOf(value), 'an object')
  }

  /** An object that has no other names than these. */
  names(path: string, value: unknown, known: readonly string[]): void {
    for (const name of Object.keys(this.object(path, value))) {
      if (known.includes(name)) continue
      throw this.refusal(`${path}.${name}`, 'not an option', `one of ${known.join(', ')}`)
    }
  }

  whole(path: string, value: unknown, min: number, max: number): number {
    if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) {
      return value as number
    }
    throw this.refusal(path, describe(value), `a whole number from ${min} to ${max}`)
  }

  /** Whole numbers, each in the range that the table has under its name. */
  ranges<N extends string>(
    path: string,
    ranges: Readonly<Record<N, Range>>,
    values: { readonly [Name in NoInfer<N>]: unknown },
  ): void {
    for (const [name, [min, max]] of Object.entries<Range>(ranges)) {
      this.whole(`${path}.${name}`, values[name as N], min, max)
    }
  }

  /** Milliseconds with fractions; `Infinity` sets no limit. */
  duration(path: string, value: unknown): number {
    if (typeof value === 'number' && value > 0) return value
    throw this.refusal(path, describe(value), 'a number of milliseconds above 0, or Infinity')
  }

  boolean(path: string, value: unknown): boolean {
    if (typeof value === 'boolean') return value
    throw this.refusal(path, describe(value), 'true or false')
  }

  callable<F>(path: string, value: F): F {
    if (typeof value === 'function') return value
    throw this.refusal(path, describe(value), 'a function')
  }

  oneOf<W extends string>(path: string, value: unknown, words: readonly W[]): W {
    const word = words.find((one) => one === value)
    if (word !== undefined) return word
    throw this.refusal(path, describe(value), `one of ${words.join(', ')}`)
  }

  /** Its length is in bytes of UTF-8. Never shows the text: it may be a token. */
  text(path: string, value: unknown, min: number, max: number): string {
    if (typeof value !== 'string') throw this.refusal(path, kindOf(value), 'a text')
    // Without this check the encoder would throw in the middle of a connection.
    if (!value.isWellFormed()) throw this.refusal(path, 'no valid Unicode', 'a text that has UTF-8')
    const bytes = Buffer.byteLength(value)
    if (bytes >= min && bytes <= max) return value
    throw this.refusal(path, `a text of ${bytes} bytes`, `one of ${min} to ${max}`)
  }

  /** Shows no entry: they may be tokens. */
  list<T>(
    path: string,
    value: readonly T[],
    expected: string,
    min = 0,
    max = Number.POSITIVE_INFINITY,
  ): readonly T[] {
    if (Array.isArray(value) && value.length >= min && value.length <= max) return value
    throw this.refusal(path, kindOf(value), expected)
  }
}

/** How a value is shown that is not allowed. An object may be a secret in the wrong place. */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, shownMax))
  if (typeof value === 'bigint') return `${value}n`
  if (Object.is(value, -0)) return '-0'
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value)
}

const shownMax = 200

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
