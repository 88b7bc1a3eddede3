import { readFileSync, writeFileSync } from 'node:fs'
import { UsageError } from '@tenure/harness'
import type { Scenario } from './scenario.js'

/** A scenario worth keeping, and its failure. */
export interface ScenarioFile {
  /** A description for readers. */
  readonly about: string
  /** The check that failed when it was written. */
  readonly check: string
  readonly scenario: Scenario
}

/** Checks that the file has all parts of a scenario, but not that their values are valid. */
export function readScenario(path: string): ScenarioFile {
  let file: unknown
  try {
    file = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw noScenario(path, error instanceof Error ? error.message : String(error))
  }
  for (const [name, isKind] of Object.entries(parts)) {
    if (!isKind(partOf(partOf(file, 'scenario'), name)))
      throw noScenario(path, `${name} is missing`)
  }
  return file as ScenarioFile
}

const parts: { readonly [P in keyof Required<Scenario>]: (value: unknown) => boolean } = {
  seed: Number.isFinite,
  clients: Number.isFinite,
  healAtMs: Number.isFinite,
  workers: Array.isArray,
  operations: Array.isArray,
  faults: Array.isArray,
  sharedLog: (value) => value === undefined || (typeof value === 'object' && value !== null),
  knobs: (value) => typeof value === 'object' && value !== null,
}

function partOf(whole: unknown, name: string): unknown {
  return typeof whole === 'object' && whole !== null && name in whole
    ? whole[name as keyof typeof whole]
    : undefined
}

function noScenario(path: string, why: string): UsageError {
  return new UsageError(`--scenario is ${path}; it must be a file written after a failure: ${why}`)
}

export function writeScenario(path: string, file: ScenarioFile): void {
  writeFileSync(path, `${JSON.stringify(file, undefined, 2)}\n`)
}
