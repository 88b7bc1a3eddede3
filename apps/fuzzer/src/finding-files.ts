import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Finding } from './campaign.js'
import { fromPlain, toPlain } from './input.js'

/** Where findings are kept: the tests try each of them again, for ever. */
export const findingsDirectory = fileURLToPath(new URL('../../findings', import.meta.url))

/** Gives the path. The same input has the same name. */
export function saveFinding(finding: Finding, directory: string): string {
  const { target, check, detail, input } = finding
  const plain = toPlain(input)
  const digest = createHash('sha256').update(JSON.stringify(plain)).digest('hex').slice(0, 12)
  const path = join(directory, `${target}-${digest}.json`)
  mkdirSync(directory, { recursive: true })
  writeFileSync(path, `${JSON.stringify({ target, check, detail, input: plain }, null, 2)}\n`)
  return path
}

export function readFinding(path: string): Finding {
  const { input, ...rest } = JSON.parse(readFileSync(path, 'utf8')) as Finding
  return { ...rest, input: fromPlain(input) }
}

export function listFindings(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => join(directory, name))
}
