import { controlCharacters, toEscape, yesOrNo } from '@tenure/app-kit'
import { flag } from '../command-line.js'

/** Every verb takes it. */
export const outputSettings = {
  Output: {
    json: flag(yesOrNo(), {
      fallback: false,
      help: 'JSON for programs, one object per line. Bytes are written as base64.',
    }),
  },
} as const

export function toJsonLine(facts: object): string {
  // JSON escapes only some of what a terminal would obey.
  return `${JSON.stringify(readable(facts)).replace(controlCharacters, toEscape)}\n`
}

function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, readable(field)]))
}
