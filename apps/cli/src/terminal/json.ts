import { controlCharacters, toEscape, yesOrNo } from '@tenure/app-kit'
import { flag } from '../command-line.js'

export const outputSettings = {
  Output: {
    json: flag(yesOrNo(), {
      fallback: false,
      help: 'Print JSON, one object per line, with bytes as base64.',
    }),
  },
} as const

export function toJsonLine(facts: object): string {
  // JSON escapes only some of the characters that control a terminal.
  return `${JSON.stringify(readable(facts)).replace(controlCharacters, toEscape)}\n`
}

function readable(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (Array.isArray(value)) return value.map(readable)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, readable(field)]))
}
