import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FileLines {
  /** Without the extension. */
  readonly name: string
  readonly lines: readonly unknown[]
}

/** Every file of a directory as lines of JSON, in the order of the names. */
export function readLines(directory: string): FileLines[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .sort(new Intl.Collator('en', { numeric: true }).compare)
    .map((file) => ({
      name: file.replace(/\.\w+$/, ''),
      lines: parseLines(readFileSync(join(directory, file), 'utf8'), file),
    }))
}

/** What a process had no time to end with a line feed was not said. */
function parseLines(text: string, file: string): unknown[] {
  const lines = text.split('\n')
  lines.pop()
  return lines.map((line, index) => {
    try {
      return JSON.parse(line)
    } catch {
      throw new Error(`${file}:${index + 1} is no JSON: ${line}`)
    }
  })
}
