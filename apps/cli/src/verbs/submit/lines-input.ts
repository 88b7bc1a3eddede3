import { createReadStream, type Stats, statSync } from 'node:fs'
import { addAbortSignal, type Readable } from 'node:stream'
import { ConfigError, flagOf } from '@tenure/app-kit'

interface LinesInput {
  /** For messages. */
  readonly name: string
  /** The size if known; standard input has none. */
  readonly totalBytes?: number | undefined
  /** An abort ends the reading, even while standard input waits for input. */
  open(signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** Throws a ConfigError immediately if the file cannot be read. */
export function linesInputOf(path: string): LinesInput {
  if (path === '-') {
    return { name: path, open: (signal) => addAbortSignal(signal, process.stdin) }
  }
  const stats = statOf(path)
  if (stats.isDirectory()) throw unreadable(path, 'it is a directory')
  return {
    name: path,
    // A named pipe has no size.
    totalBytes: stats.isFile() ? stats.size : undefined,
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
  return new ConfigError(
    `cannot read ${path}, set by ${flagOf('lines')}: ${why}; use a file that this user can read`,
    {
      cause,
    },
  )
}

/** A line of the input without its line end. */
export interface Line {
  /** The first one is 1. */
  readonly number: number
  readonly bytes: Uint8Array
  /** The offset of the next line, in bytes. */
  readonly end: number
}

/** A file without line ends must not fill the memory. */
const lineBytesMax = 64 * 1024 * 1024

class LineTooLong extends Error {
  constructor(number: number) {
    super(`line ${number} is longer than ${lineBytesMax} bytes`)
    this.name = 'LineTooLong'
  }
}

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** Yields the bytes of each line unchanged; a line ends with a line feed, or a carriage return and a line feed. */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Line, void, undefined> {
  let number = 1
  let end = 0
  /** The beginning of an incomplete line. */
  let begun: Uint8Array[] = []
  for await (const chunk of chunks) {
    let from = 0
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, from)) {
      const bytes = Buffer.concat([...begun, chunk.subarray(from, at)])
      end += bytes.length + 1
      yield { number: number++, bytes: withoutReturn(bytes), end }
      begun = []
      from = at + 1
    }
    begun.push(chunk.subarray(from))
    if (sizeOf(begun) > lineBytesMax) throw new LineTooLong(number)
  }
  const rest = Buffer.concat(begun)
  if (rest.length > 0) yield { number, bytes: withoutReturn(rest), end: end + rest.length }
}

function withoutReturn(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes
}

function sizeOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}
