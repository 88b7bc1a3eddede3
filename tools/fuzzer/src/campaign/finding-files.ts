import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '@tenure/harness'
import { fromPlain, isPlain, toPlain } from '../input/input.js'
import type { Finding } from './campaign.js'

/** Directory of findings. The tests replay all of them permanently. */
export const findingsDirectory = fileURLToPath(new URL('../../../findings', import.meta.url))

/** A finding whose input is in a file. */
export interface FoundInFile {
  readonly target: string
  readonly check: string
  readonly detail: string
  /** The command that replays it. */
  readonly command: string
}

export function keepFinding(finding: Finding, directory = findingsDirectory): FoundInFile {
  const { target, check, detail } = finding
  const path = relative(process.cwd(), saveFinding(finding, directory))
  return { target, check, detail, command: `pnpm fuzz --replay ${path}` }
}

export function describeFinding({ target, check, detail, command }: FoundInFile): string {
  return `FOUND in ${target}: violated: ${check}\n  ${detail}\n  ${command}\n`
}

/** Returns the path. An input always gets the same name. */
export function saveFinding(finding: Finding, directory: string): string {
  const { target, check, detail, input } = finding
  const plain = toPlain(input)
  const digest = createHash('sha256').update(JSON.stringify(plain)).digest('hex').slice(0, 12)
  const path = join(directory, `${target}-${digest}.json`)
  mkdirSync(directory, { recursive: true })
  writeFileSync(path, `${JSON.stringify({ target, check, detail, input: plain }, null, 2)}\n`)
  return path
}

/** Rejects a file that is not a finding with a usage error. */
export function readFinding(path: string): Finding {
  const { target, check, detail, input } = parseFinding(path)
  const isFinding = [target, check, detail].every((text) => typeof text === 'string')
  if (!isFinding || !isPlain(input)) throw noFinding(path, 'its fields are wrong')
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
  return new UsageError(`--replay is ${path}; it must be a file with a finding: ${why}`)
}

export function listFindings(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => join(directory, name))
}
