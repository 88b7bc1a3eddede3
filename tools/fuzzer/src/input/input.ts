import { isDeepStrictEqual } from 'node:util'

/**
 * An input: steps in their order. Every step may be left out, and its bytes and text may be
 * shortened, so that a finding can be shrunk to what it needs.
 */
export type Input = readonly Step[]

export interface Step {
  readonly kind: string
  readonly bytes?: Uint8Array
  readonly text?: string
  /** The name of a file or a variable. */
  readonly name?: string
  readonly other?: string
  readonly at?: number
  readonly to?: number
}

/** As JSON, with bytes in hexadecimal. */
export function toPlain(input: Input): unknown {
  return input.map(({ bytes, ...rest }) =>
    bytes === undefined ? rest : { ...rest, hex: Buffer.from(bytes).toString('hex') },
  )
}

export function fromPlain(value: unknown): Input {
  return (value as readonly (Step & { readonly hex?: string })[]).map(({ hex, ...rest }) =>
    hex === undefined ? rest : { ...rest, bytes: Buffer.from(hex, 'hex') },
  )
}

const plainTypes: Readonly<Record<string, string>> = {
  kind: 'string',
  hex: 'string',
  text: 'string',
  name: 'string',
  other: 'string',
  at: 'number',
  to: 'number',
}

/** Whether `fromPlain` accepts it. */
export function isPlain(value: unknown): boolean {
  return Array.isArray(value) && value.every(isPlainStep)
}

function isPlainStep(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  if ('hex' in value && !/^([0-9a-f]{2})*$/.test(String(value.hex))) return false
  return Object.entries(value).every(([name, field]) => typeof field === plainTypes[name])
}

/** Whether two values mean the same, ignoring the type of byte arrays and the sign of zero. */
export function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(plain(one), plain(other))
}

function plain(value: unknown): unknown {
  if (value === 0) return 0
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, plain(own)]))
}
