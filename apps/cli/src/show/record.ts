import { isUtf8 } from 'node:buffer'
import type { Entry } from '@tenure/history'
import { toJsonLine } from '../terminal/json.js'

/** One record as a line of JSON. */
export function showRecord({ lsn, record }: Entry, asText: boolean): string {
  const { type, at, ...fields } = record
  const shown: Record<string, unknown> = { lsn, at, time: new Date(at).toISOString(), type }
  for (const [name, value] of Object.entries(fields)) {
    if (!(value instanceof Uint8Array)) shown[name] = value
    else {
      const text = asText ? textOf(value) : undefined
      if (text === undefined) shown[name] = value
      else shown[`${name}Text`] = text
    }
  }
  return toJsonLine(shown)
}

function textOf(bytes: Uint8Array): string | undefined {
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : undefined
}
