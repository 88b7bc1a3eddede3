import { badArgument } from './errors.js'

/** Checks of what a caller gave; JavaScript has no types to do it. Each names the whole path. */

/**
 * How a value is shown that is not acceptable. Of an object only what it is: it may be a secret in the
 * wrong place.
 */
export function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, textShownMax))
  if (typeof value === 'bigint') return `${value}n`
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (value === undefined) return 'missing'
  const isPlain = value === null || ['number', 'boolean'].includes(typeof value)
  return isPlain ? String(value) : `a value of type ${typeof value}`
}

const textShownMax = 200

export function checkNames(path: string, given: unknown, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) {
    throw badArgument(path, `a value of type ${typeof given}`, 'an object')
  }
  for (const name of Object.keys(given)) {
    if (!known.includes(name)) {
      throw badArgument(`${path}.${name}`, 'no option', `one of ${known.join(', ')}`)
    }
  }
}

export function whole(path: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) {
    return value as number
  }
  throw badArgument(path, describe(value), `a whole number from ${min} to ${max}`)
}

/** Milliseconds, fractions allowed; `Infinity` is never. */
export function duration(path: string, value: unknown): number {
  if (typeof value === 'number' && value > 0) return value
  throw badArgument(path, describe(value), 'a number of milliseconds above 0, or Infinity')
}

/** A controller in place of its signal, most often. */
export function checkSignal(path: string, value: unknown): void {
  const { aborted, addEventListener } = (value ?? {}) as Partial<AbortSignal>
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return
  throw badArgument(path, 'something else', 'an AbortSignal')
}

export function text(path: string, value: unknown, min: number, max: number): string {
  if (typeof value !== 'string') throw badArgument(path, `a ${typeof value}`, 'a text')
  // What has no UTF-8 would be thrown about in the middle of a connection.
  if (!value.isWellFormed()) throw badArgument(path, 'no valid Unicode', 'a text that has UTF-8')
  const bytes = Buffer.byteLength(value)
  if (bytes >= min && bytes <= max) return value
  throw badArgument(path, `a text of ${bytes} bytes`, `one of ${min} to ${max}`)
}

export function oneOf<W extends string>(path: string, value: unknown, words: readonly W[]): W {
  const word = words.find((one) => one === value)
  if (word !== undefined) return word
  throw badArgument(path, String(value), `one of ${words.join(', ')}`)
}
