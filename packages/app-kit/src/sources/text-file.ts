import { existsSync, readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../settings/given-value.js'

/** Reads a file that is named by a setting. */
export function readText(path: string, origin: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigError(
      `cannot read ${path}, set by ${origin}: ${codeOf(cause)}; use a file that this user can read`,
      {
        cause,
      },
    )
  }
}

/** Reads a secret from a file. A missing file's name is not shown: it may be the secret itself. */
export function readSecretText(path: string, origin: string): string {
  if (existsSync(path)) return readText(path, origin)
  throw new ConfigError(
    `the file set by ${origin} does not exist; set it to the path of a file that holds the secret`,
  )
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : error
}

export function readJsonObject(
  path: string,
  origin: string,
  text = readText(path, origin),
): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The parser's message quotes the text, which may hold a token.
    throw new ConfigError(
      `${path}, set by ${origin}, is not valid JSON; it must hold a JSON object`,
    )
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new ConfigError(
    `${path}, set by ${origin}, holds another JSON value; it must hold a JSON object`,
  )
}

/** Whether other users can read the file. */
export function isReadableByOthers(path: string): boolean {
  // Windows has no such permission bits.
  return process.platform !== 'win32' && (statSync(path).mode & 0o044) !== 0
}
