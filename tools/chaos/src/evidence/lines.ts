import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

interface LinesFile {
  /** Without the extension. */
  readonly name: string
  readonly path: string
}

/** The files of a directory in the order of their names. */
export function listFiles(directory: string): LinesFile[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .sort(new Intl.Collator('en', { numeric: true }).compare)
    .map((file) => ({ name: file.replace(/\.\w+$/, ''), path: join(directory, file) }))
}

/** Reads a file of JSON lines one by one: it may be larger than memory. */
export async function* readLines<T>(path: string): AsyncGenerator<T> {
  if (!existsSync(path)) return
  let rest = ''
  let number = 0
  for await (const text of createReadStream(path, 'utf8')) {
    const lines = (rest + text).split('\n')
    // A kill may leave the last line without a line feed; an unfinished line does not count.
    rest = lines.pop() ?? ''
    for (const line of lines) yield parseLine(line, path, ++number) as T
  }
}

/** Reads the lines of all files of a directory. */
export async function* readAllLines<T>(directory: string): AsyncGenerator<T> {
  for (const { path } of listFiles(directory)) yield* readLines<T>(path)
}

function parseLine(line: string, path: string, number: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new Error(`${path}:${number} is not valid JSON: ${line}`)
  }
}
