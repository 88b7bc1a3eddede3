import { createReadStream, type Stats, statSync } from 'node:fs'
import { addAbortSignal, type Readable } from 'node:stream'
import { ConfigError, flagOf } from '@tenure/app-kit'

/** Where lines come from. */
export interface LinesInput {
  /** For messages. */
  readonly name: string
  /** How long it is, where that is known: the standard input may have no end. */
  readonly totalBytes?: number
  /** An abort ends the reading, also that of a standard input where nobody types anything. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** Says at once that a file is not there. */
export function linesInputOf(path: string): LinesInput {
  if (path === '-') {
    return { name: path, open: (signal) => addAbortSignal(signal, process.stdin) }
  }
  const stats = statOf(path)
  if (stats.isDirectory()) throw unreadable(path, 'it is a directory')
  return {
    name: path,
    // A pipe that has a name is as long as it will be.
    ...(stats.isFile() && { totalBytes: stats.size }),
    open: (signal): Readable => addAbortSignal(signal, createReadStream(path)),
  }
}

function statOf(path: string): Stats {
  try {
    return statSync(path)
  } catch (cause) {
    throw unreadable(path, cause instanceof Error && 'code' in cause ? cause.code : cause, cause)
  }
}

function unreadable(path: string, why: unknown, cause?: unknown): ConfigError {
  return new ConfigError(`${flagOf('lines')} names ${path}, which cannot be read: ${why}`, {
    cause,
  })
}
