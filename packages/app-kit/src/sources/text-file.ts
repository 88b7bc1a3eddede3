import { existsSync, readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../settings/given.js'

/** The text of a file that a setting names. */
export function readText(path: string, askedBy: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${askedBy} names ${path}, which cannot be read: ${codeOf(cause)}`, {
      cause,
    })
  }
}

/**
 * The same for a file that holds a secret. The name of a file that does not exist is not shown: it may
 * be the secret itself, given instead of its file.
 */
export function readSecretText(path: string, askedBy: string): string {
  if (existsSync(path)) return readText(path, askedBy)
  throw new ConfigError(
    `${askedBy} names a file that does not exist; it must name the file that holds the secret`,
  )
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error
}

export function readJsonObject(
  path: string,
  askedBy: string,
  text = readText(path, askedBy),
): Record<string, unknown> {
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
