import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { ProgressOutput } from '@tenure/harness'
import type { Summary } from '../play/summary.js'
import type { Failure } from '../play/tally.js'
import type { Bug } from './bug.js'
import { decisionBugs } from './decision-bugs.js'
import { logBugs } from './log-bugs.js'
import { peerBugs } from './peer-bugs.js'
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
  /** What else went wrong, which says nothing of the bug. */
  readonly others: readonly Other[]
}

/** A failure by which the bug may not be found, or that is there without it, too. */
interface Other extends Failure {
  readonly why: 'no sign of it' | 'fails without it, too'
}

export interface HuntSummary {
  readonly planted: number
  readonly found: number
  readonly bugs: readonly Catch[]
  readonly seconds: number
  /** Bugs that were not found, as failures of the harness. */
  readonly failures: readonly Catch[]
}

/** Plays so many seeds from this one on, up to the first that fails, and says how it does. */
type Play = (seed: number, seeds: number) => Promise<Failure | undefined>

interface Plays {
  readonly planted: Play
  /** The code as it is. */
  readonly sound: Play
}

/** What fails so often by something else never gets to what it is there to show. */
const othersMax = 10
const program = fileURLToPath(new URL('../main.js', import.meta.url))

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
      const one = await plantAndTrack(bug)
      caught.set(bug, one)
      output.write(`${describeCatch(one)}\n`)
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  const all = bugs.map((bug) => caught.get(bug)!)
  return {
    planted: bugs.length,
    found: all.filter(({ isFound }) => isFound).length,
    bugs: all,
    seconds: Math.round((performance.now() - startMs) / 100) / 10,
    failures: all.filter(({ isFound }) => !isFound),
  }
}

async function plantAndTrack(bug: Bug): Promise<Catch> {
  const plot = Plot.plant(bug)
  try {
    return await track(bug, { planted: playerOf(plot.program), sound: playerOf(program) })
  } finally {
    plot.remove()
  }
}

/** Goes from one failure to the next until one of them is the bug's, and nobody else's. */
export async function track(bug: Bug, { planted, sound }: Plays): Promise<Catch> {
  const { name, seedsMax } = bug
  const others: Other[] = []
  for (let seed = 1; seed <= seedsMax && others.length < othersMax; ) {
    const failure = await planted(seed, seedsMax - seed + 1)
    if (failure === undefined) break
    const { check, message } = failure
    const why = await whyNot(bug, failure, sound)
    if (why === undefined) {
      return { name, seedsMax, isFound: true, seeds: failure.seed, check, message, others }
    }
    others.push({ ...failure, why })
    seed = failure.seed + 1
  }
  return { name, seedsMax, isFound: false, seeds: seedsMax, others }
}

/** Why a failure is not the bug's; `undefined` when it is. */
async function whyNot(
  { foundBy }: Bug,
  failure: Failure,
  sound: Play,
): Promise<Other['why'] | undefined> {
  const isSign = foundBy.some(
    ({ check, message = /^/ }) => check === failure.check && message.test(failure.message),
  )
  if (!isSign) return 'no sign of it'
  return (await sound(failure.seed, 1)) === undefined ? undefined : 'fails without it, too'
}

function playerOf(program: string): Play {
  return async (seed, seeds) => {
    const range = ['--seed', `${seed}`, '--seeds', `${seeds}`]
    const args = [program, ...range, '--threads', '1', '--first', '--json']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const [written, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
    if (written === '') throw new Error(`the simulator ended without a word: ${errors}`)
    return (JSON.parse(written) as Summary).failures[0]
  }
}

export function describeHunt({ planted, found, seconds, failures }: HuntSummary): string {
  const lines = failures.map(({ name }) => `NOT FOUND ${name}`)
  return [...lines, `${found} of ${planted} planted bugs found in ${seconds} s`].join('\n')
}

function describeCatch({ name, isFound, seeds, seedsMax, check, others }: Catch): string {
  const found = isFound
    ? `seed ${`${seeds}`.padStart(4)} of ${`${seedsMax}`.padEnd(4)}  ${name}: ${check}`
    : `not found  ${name}, in ${seedsMax} seeds${others.length < othersMax ? '' : ' at most'}`
  return [...others.map(describeOther), found].join('\n')
}

function describeOther({ seed, check, message, why }: Other): string {
  return `     seed ${seed}, ${why}: ${check}: ${message}`
}

/** All of them. Each must be found, else the simulator does not see what it is there to see. */
export const bugs: readonly Bug[] = [...logBugs, ...decisionBugs, ...peerBugs]
