import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '@tenure/harness'
import { fromPlain, isPlain, toPlain } from '../input/input.js'
import type { Finding } from './campaign.js'

/** Where findings are kept: the tests try each of them again, for ever. */
export const findingsDirectory = fileURLToPath(new URL('../../../findings', import.meta.url))

/** What is said of a finding whose input stands in a file. */
export interface FoundInFile {
  readonly target: string
  readonly check: string
  readonly detail: string
  /** What tries it again. */
  readonly command: string
}

export function keepFinding(finding: Finding, directory = findingsDirectory): FoundInFile {
  const { target, check, detail } = finding
  const path = relative(process.cwd(), saveFinding(finding, directory))
  return { target, check, detail, command: `pnpm fuzz --replay ${path}` }
}

export function describeFinding({ target, check, detail, command }: FoundInFile): string {
  return `FOUND in ${target}: it does not hold that ${check}\n  ${detail}\n  ${command}\n`
}

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

/** Whoever names the file on a command line is told when it holds no finding. */
export function readFinding(path: string): Finding {
  const { target, check, detail, input } = parseFinding(path)
  const isFinding = [target, check, detail].every((text) => typeof text === 'string')
  if (!isFinding || !isPlain(input)) throw noFinding(path, 'it holds something else')
  return { target, check, detail, input: fromPlain(input) }
}

function parseFinding(path: string): Finding {
  try {
    return Object(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    throw noFinding(path, error instanceof Error ? error.message : String(error))
  }
}

function noFinding(path: string, why: string): UsageError {
  return new UsageError(`--replay is ${path}; it must be a file that holds a finding: ${why}`)
}

export function listFindings(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => join(directory, name))
}
