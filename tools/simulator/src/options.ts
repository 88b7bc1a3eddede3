import { availableParallelism } from 'node:os'
import { parseAmount, parseOptions, parseWhole, UsageError } from '@tenure/harness'
import type { LogChoice } from './scenario/scenario.js'

export interface CommandLine {
  /** The first seed; the only one without `seeds`. */
  readonly seed: number
  readonly seeds: number
  readonly minutes: number | undefined
  readonly scenario: string | undefined
  readonly bugs: 'none' | 'all' | { readonly name: string }
  readonly threads: number
  /** Which scenarios are drawn. */
  readonly log: LogChoice
  /** Stops at the first failure, and shrinks nothing. */
  readonly first: boolean
  readonly events: boolean
  readonly json: boolean
}

export const usage = `pnpm sim [--seeds n] [--seed s] [--minutes m] [--scenario file] [--shared-log | --own-log] [--bugs] [--bug name] [--json]

  --seeds     number of seeds to play, starting with --seed (default 500)
  --seed      first seed (default: taken from the clock); without --seeds the only one
  --minutes   play seeds for this many minutes instead of --seeds
  --scenario  play one scenario from a file
  --bugs      plant every known bug in a copy of the code, and show which seed finds it
  --bug       plant one known bug in a copy of the code
  --shared-log  only scenarios with several coordinators on a shared log
  --own-log   only scenarios with one coordinator on a log of its own
  --threads   number of concurrent seeds (default: the number of processors)
  --first     stop at the first failure, and shrink nothing
  --events    write every event of a single seed or scenario to standard error
  --json      print the summary as one line of JSON`

const seedsDefault = 500

type OptionName = keyof ReturnType<typeof parse>

const ofSeeds: readonly OptionName[] = [
  'seed',
  'seeds',
  'minutes',
  'first',
  'shared-log',
  'own-log',
]

/** Options that would be ignored together with another option. */
const ignoredBeside: readonly (readonly [OptionName, readonly OptionName[]])[] = [
  ['scenario', [...ofSeeds, 'threads', 'bugs', 'bug']],
  ['bugs', [...ofSeeds, 'events', 'bug']],
  ['bug', [...ofSeeds, 'events', 'threads']],
  ['minutes', ['seeds']],
  ['shared-log', ['own-log']],
]

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const typed = parse(args)
  rejectIgnored(typed)
  const { seeds, seed, minutes, scenario, bugs, bug, threads, first, events, json } = typed
  const isOne = seed !== undefined && seeds === undefined && minutes === undefined
  const count = seeds === undefined ? (isOne ? 1 : seedsDefault) : parseWhole('seeds', seeds)
  if (events && scenario === undefined && (count > 1 || minutes !== undefined)) {
    throw new UsageError(
      '--events needs one seed or scenario; use --seed without --seeds, or --scenario',
    )
  }
  return {
    seed: seed === undefined ? seedDefault : parseWhole('seed', seed),
    seeds: count,
    minutes: minutes === undefined ? undefined : parseAmount('minutes', minutes, 10_080),
    scenario,
    bugs: bug === undefined ? (bugs === true ? 'all' : 'none') : { name: bug },
    threads: threads === undefined ? availableParallelism() : parseWhole('threads', threads),
    log: typed['shared-log'] ? 'shared' : typed['own-log'] ? 'own' : 'any',
    first: first ?? false,
    events: events ?? false,
    json: json ?? false,
  }
}

function rejectIgnored(typed: ReturnType<typeof parse>): void {
  for (const [name, others] of ignoredBeside) {
    const ignored = others.find((other) => typed[other] !== undefined)
    if (typed[name] === undefined || ignored === undefined) continue
    throw new UsageError(`--${name} and --${ignored} are mutually exclusive`)
  }
}

function parse(args: readonly string[]) {
  return parseOptions(args, {
    seeds: 'string',
    seed: 'string',
    minutes: 'string',
    scenario: 'string',
    bug: 'string',
    threads: 'string',
    bugs: 'boolean',
    first: 'boolean',
    'shared-log': 'boolean',
    'own-log': 'boolean',
    events: 'boolean',
    json: 'boolean',
  })
}
