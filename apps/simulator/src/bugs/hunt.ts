import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { ProgressOutput } from '@tenure/testing'
import type { Summary } from '../summary.js'
import type { Bug } from './bug.js'
import { Plot } from './plant.js'

/** What came of one planted bug. */
interface Catch {
  readonly name: string
  readonly isFound: boolean
  /** How many seeds it took, counted from 1; all that were allowed when it was not found. */
  readonly seeds: number
  readonly seedsMax: number
  /** The check that saw it. */
  readonly check?: string
  readonly message?: string
}

export interface HuntSummary {
  readonly planted: number
  readonly found: number
  readonly bugs: readonly Catch[]
  readonly seconds: number
  /** Bugs that were not found, as failures of the harness. */
  readonly failures: readonly Catch[]
}

/** Plants the bugs, so many at once, and plays seeds from 1 on until each is found. */
export async function hunt(
  bugs: readonly Bug[],
  threads: number,
  output: ProgressOutput,
): Promise<HuntSummary> {
  const startMs = performance.now()
  const waiting = [...bugs]
  const caught = new Map<Bug, Catch>()
  const work = async () => {
    for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
      const one = await huntOne(bug)
      caught.set(bug, one)
      output.write(`${describeCatch(one)}\n`)
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  const all = bugs.map((bug) => caught.get(bug)!)
  return {
    ...{ planted: bugs.length, found: all.filter(({ isFound }) => isFound).length, bugs: all },
    seconds: Math.round((performance.now() - startMs) / 100) / 10,
    failures: all.filter(({ isFound }) => !isFound),
  }
}

async function huntOne(bug: Bug): Promise<Catch> {
  const { name, seedsMax } = bug
  const plot = Plot.plant(bug)
  try {
    const { failures } = await play(plot.program, seedsMax)
    const [first] = failures
    if (first === undefined) return { name, seedsMax, isFound: false, seeds: seedsMax }
    const { seed, check, message } = first
    return { name, seedsMax, isFound: true, seeds: seed, check, message }
  } finally {
    plot.remove()
  }
}

async function play(program: string, seeds: number): Promise<Summary> {
  const args = ['--seed', '1', '--seeds', `${seeds}`, '--threads', '1', '--first', '--json']
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const [written, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (written === '') throw new Error(`the simulator ended without a word: ${errors}`)
  return JSON.parse(written) as Summary
}

export function describeHunt({ planted, found, seconds, failures }: HuntSummary): string {
  const lines = failures.map(({ name }) => `NOT FOUND ${name}`)
  return [...lines, `${found} of ${planted} planted bugs found in ${seconds} s`].join('\n')
}

function describeCatch({ name, isFound, seeds, seedsMax, check }: Catch): string {
  if (!isFound) return `not found  ${name}, in ${seedsMax} seeds`
  return `${`${seeds}`.padStart(4)} of ${`${seedsMax}`.padStart(4)} seeds  ${name}: ${check}`
}
