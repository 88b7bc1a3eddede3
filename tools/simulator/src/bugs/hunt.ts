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
import { CodeCopy } from './plant.js'
import { sharedLogBugs } from './shared-log-bugs.js'

/** The result for one planted bug. */
interface HuntResult {
  readonly name: string
  readonly isFound: boolean
  /** Number of played seeds, counted from 1; the maximum if the bug was not found. */
  readonly seeds: number
  readonly seedsMax: number
  /** The check that found it. */
  readonly check?: string
  readonly message?: string
  /** Other failures, which do not count. */
  readonly others: readonly Other[]
}

/** A failure that does not count as finding the bug, or that also occurs without it. */
interface Other extends Failure {
  readonly why: 'not a sign of the bug' | 'also fails without the bug'
}

export interface HuntSummary {
  readonly planted: number
  readonly found: number
  readonly bugs: readonly HuntResult[]
  readonly seconds: number
  /** Bugs that were not found. */
  readonly failures: readonly HuntResult[]
}

/** Plays this many seeds from the given one up to the first failure, and returns that failure. */
type Play = (seed: number, seeds: number) => Promise<Failure | undefined>

interface Plays {
  readonly planted: Play
  /** The unchanged code. */
  readonly sound: Play
}

/** A bug that causes this many other failures never reaches the behaviour it is meant to show. */
const othersMax = 10
const program = fileURLToPath(new URL('../main.js', import.meta.url))

/** Plants the bugs, several concurrently, and plays seeds from 1 on until each is found. */
export async function hunt(
  bugs: readonly Bug[],
  threads: number,
  output: ProgressOutput,
): Promise<HuntSummary> {
  const startMs = performance.now()
  const waiting = [...bugs]
  const caught = new Map<Bug, HuntResult>()
  const work = async () => {
    for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
      const one = await plantAndHunt(bug)
      caught.set(bug, one)
      output.write(`${describeResult(one)}\n`)
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

async function plantAndHunt(bug: Bug): Promise<HuntResult> {
  const copy = CodeCopy.plant(bug)
  try {
    return await huntBug(bug, {
      planted: playerOf(copy.program, bug),
      sound: playerOf(program, bug),
    })
  } finally {
    copy.remove()
  }
}

/**
 * Goes from one failure to the next until one is a sign of the bug and does not occur without it.
 */
export async function huntBug(bug: Bug, { planted, sound }: Plays): Promise<HuntResult> {
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

/** The reason why a failure does not count; `undefined` if it does. */
async function whyNot(
  { foundBy }: Bug,
  failure: Failure,
  sound: Play,
): Promise<Other['why'] | undefined> {
  const isSign = foundBy.some(
    ({ check, message = /^/ }) => check === failure.check && message.test(failure.message),
  )
  if (!isSign) return 'not a sign of the bug'
  return (await sound(failure.seed, 1)) === undefined ? undefined : 'also fails without the bug'
}

function playerOf(program: string, { log = 'own' }: Bug): Play {
  return async (seed, seeds) => {
    const range = ['--seed', `${seed}`, '--seeds', `${seeds}`]
    const args = [program, ...range, '--threads', '1', '--first', '--json', `--${log}-log`]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const [written, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
    if (written === '') throw new Error(`the simulator printed nothing: ${errors}`)
    return (JSON.parse(written) as Summary).failures[0]
  }
}

export function describeHunt({ planted, found, seconds, failures }: HuntSummary): string {
  const lines = failures.map(({ name }) => `NOT FOUND ${name}`)
  return [...lines, `${found} of ${planted} planted bugs found in ${seconds} s`].join('\n')
}

function describeResult({ name, isFound, seeds, seedsMax, check, others }: HuntResult): string {
  const found = isFound
    ? `seed ${`${seeds}`.padStart(4)} of ${`${seedsMax}`.padEnd(4)}  ${name}: ${check}`
    : `not found  ${name}, in ${seedsMax} seeds${others.length < othersMax ? '' : ' at most'}`
  return [...others.map(describeOther), found].join('\n')
}

function describeOther({ seed, check, message, why }: Other): string {
  return `     seed ${seed}, ${why}: ${check}: ${message}`
}

/** All planted bugs. The simulator must find each of them. */
export const bugs: readonly Bug[] = [...logBugs, ...decisionBugs, ...peerBugs, ...sharedLogBugs]
