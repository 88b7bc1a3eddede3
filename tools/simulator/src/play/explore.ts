import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Progress, type ProgressOutput } from '@tenure/harness'
import type { CommandLine } from '../options.js'
import { drawScenario } from '../scenario/draw.js'
import type { Scenario } from '../scenario/scenario.js'
import { writeScenario } from '../scenario/scenario-file.js'
import { shrink } from '../scenario/shrink.js'
import { type CrewOptions, isLoss, playSeeds } from './crew.js'
import { run } from './run.js'
import {
  describeFailure,
  describeProgress,
  type Shrunk,
  type Summary,
  summarize,
} from './summary.js'
import { addOutcome, emptyTally, type Failure } from './tally.js'

/** Only the first failures are shrunk: most of the others have the same cause. */
const shrunkMax = 3

type Options = Pick<CommandLine, 'seed' | 'seeds' | 'minutes' | 'threads' | 'first' | 'log'>

/** Plays many seeds, and shrinks the failing scenarios. */
export async function explore(
  options: Options,
  output: ProgressOutput,
  crew: Pick<CrewOptions, 'program' | 'patienceMs' | 'setTimer'> = {},
): Promise<Summary> {
  const startMs = performance.now()
  let tally = emptyTally()
  output.write(`starting with seed ${options.seed}\n`)
  const progress = new Progress(output, () => describeProgress(tally, performance.now() - startMs))
  try {
    tally = await playSeeds({
      ...crew,
      threads: options.threads,
      log: options.log,
      next: seedsOf(options, () => tally.failures.length > 0),
      onProgress: (so) => {
        tally = so
      },
      onLoss: (failure) => output.write(`\n${describeFailure(failure)}\n`),
    })
  } finally {
    progress.end()
  }
  const elapsedMs = performance.now() - startMs
  tally.failures.sort((a, b) => a.seed - b.seed)
  const shrunk: Shrunk[] = []
  for (const failure of options.first ? [] : toBeShrunk(tally.failures)) {
    // Printed before shrinking, which may fail in its own way.
    output.write(`${describeFailure(failure)}\nshrinking seed ${failure.seed}\n`)
    shrunk.push(await keepSmallest(failure))
  }
  return summarize(tally, shrunk, elapsedMs)
}

/**
 * Shrinking runs in this thread, so it excludes scenarios that do not end or that end their thread.
 */
function toBeShrunk(failures: readonly Failure[]): readonly Failure[] {
  return failures.filter((failure) => !isLoss(failure)).slice(0, shrunkMax)
}

function seedsOf(
  { seed: first, seeds, minutes, first: isFirst }: Options,
  hasFailed: () => boolean,
): () => number | undefined {
  const untilMs = minutes === undefined ? undefined : performance.now() + minutes * 60_000
  let seed = first
  return () => {
    if (isFirst && hasFailed()) return undefined
    const isOver = untilMs === undefined ? seed >= first + seeds : performance.now() >= untilMs
    return isOver ? undefined : seed++
  }
}

async function keepSmallest({ seed, log, check, message }: Failure): Promise<Shrunk> {
  const scenario = await shrink(drawScenario(seed, log), async (candidate) => {
    const { violation } = await run(candidate)
    return violation?.check === check
  })
  const path = join(tmpdir(), `tenure-sim-${seed}.json`)
  writeScenario(path, { about: message, check, scenario })
  const { operations, faults } = scenario
  return { seed, path, operations: operations.length, faults: faults.length }
}

/** Plays one scenario, and passes every event to a listener. */
export async function replay(
  scenario: Scenario,
  onLine: ((line: string) => void) | undefined,
): Promise<Summary> {
  const startMs = performance.now()
  const tally = emptyTally()
  addOutcome(tally, scenario.seed, await run(scenario, onLine), 'any')
  return summarize(tally, [], performance.now() - startMs)
}
