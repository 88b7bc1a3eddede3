/** An inclusive range. */
export type Range = readonly [min: number, max: number]

/** Longest accepted duration, about a thousand years. A timestamp plus this stays an exact integer. */
export const longestMs = 2 ** 45

/** Largest accepted count. */
export const largestCount = 2 ** 31 - 1

/**
 * Checks option values at run time: callers may use plain JavaScript. Each package creates one with its own
 * error class. A check returns the value, or throws an error that names the option's path, the value, and
 * what is expected.
 */
export class Checks<E extends Error> {
  readonly #makeError: (message: string) => E

  constructor(makeError: (message: string) => E) {
    this.#makeError = makeError
  }

  /** The error for a check that a package implements itself. */
  refusal(path: string, got: string, expected: string): E {
    return this.#makeError(`${path} is ${got}; it must be ${expected}`)
  }

  /**
   * Returns the value if it is an object. The message never shows its contents: TLS options may hold a key.
   */
  object(path: string, value: unknown): object {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
    throw this.refusal(path, kindOf(value), 'an object')
  }

  /** Rejects an object that has properties other than `known`. */
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

  /** Checks whole numbers, each against the range of the same name in `ranges`. */
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

  /** `min` and `max` count UTF-8 bytes. The message never shows the text: it may be a token. */
  text(path: string, value: unknown, min: number, max: number): string {
    if (typeof value !== 'string') throw this.refusal(path, kindOf(value), 'a string')
    // An ill-formed string would otherwise make the encoder throw in the middle of a connection.
    if (!value.isWellFormed())
      throw this.refusal(path, 'not well-formed Unicode', 'a string without lone surrogates')
    const bytes = Buffer.byteLength(value)
    if (bytes >= min && bytes <= max) return value
    throw this.refusal(path, `a string of ${bytes} bytes`, `${min} to ${max} bytes long`)
  }

  /** The message never shows the entries: they may be tokens. */
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

/** Describes a rejected value for an error message. Objects stay opaque: they may hold secrets. */
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
