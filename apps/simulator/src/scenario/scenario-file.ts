import { readFileSync, writeFileSync } from 'node:fs'
import type { Scenario } from './scenario.js'

/** A scenario that was worth keeping, and what went wrong in it. */
export interface ScenarioFile {
  /** In words, for whoever reads it. */
  readonly about: string
  /** The check that failed when it was written. */
  readonly check: string
  readonly scenario: Scenario
}

export function readScenario(path: string): ScenarioFile {
  return JSON.parse(readFileSync(path, 'utf8')) as ScenarioFile
}

export function writeScenario(path: string, file: ScenarioFile): void {
  writeFileSync(path, `${JSON.stringify(file, undefined, 2)}\n`)
}
