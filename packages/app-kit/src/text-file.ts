import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from './config-error.js'

/** The text of a file that a setting names. */
export function readText(path: string, askedBy: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const why = cause instanceof Error && 'code' in cause ? cause.code : cause
    throw new ConfigError(`${askedBy} names ${path}, which cannot be read: ${why}`, { cause })
  }
}

export function readJsonObject(path: string, askedBy: string): Record<string, unknown> {
  const text = readText(path, askedBy)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's own message quotes what it read, which may be a token.
    throw new ConfigError(`${askedBy} names ${path}, which is not JSON`)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new ConfigError(`${askedBy} names ${path}, which must hold a JSON object`)
}

/** Whether others than its owner can read the file. */
export function isOpenToOthers(path: string): boolean {
  // Windows has no such bits; what is in their place there says nothing.
  return process.platform !== 'win32' && (statSync(path).mode & 0o044) !== 0
}
