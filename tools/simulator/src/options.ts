import { availableParallelism } from 'node:os'
import { parseAmount, parseOptions, parseWhole, UsageError } from '@tenure/harness'

export interface CommandLine {
  /** The first one; one alone when there is no number of them. */
  readonly seed: number
  readonly seeds: number
  readonly minutes: number | undefined
  readonly scenario: string | undefined
  readonly bugs: 'none' | 'all' | { readonly name: string }
  readonly threads: number
  /** Ends with the first failure, and shrinks nothing. */
  readonly first: boolean
  readonly events: boolean
  readonly json: boolean
}

export const usage = `pnpm sim [--seeds n] [--seed s] [--minutes m] [--scenario file] [--bugs] [--bug name] [--json]

  --seeds     how many seeds are played (500), from --seed on
  --seed      the first of them (made from the time); without --seeds it alone
  --minutes   plays seeds for so long instead
  --scenario  plays one scenario from a file
  --bugs      plants every known bug in a copy of the code, and says how many seeds find it
  --bug       the same of one bug
  --threads   how many seeds at once (as many as there are processors)
  --first     ends with the first failure, and makes nothing smaller
  --events    writes every event of a single seed or scenario to the standard error
  --json      ends with one line of JSON on the standard output`

const seedsDefault = 500

type OptionName = keyof ReturnType<typeof parse>

const ofSeeds: readonly OptionName[] = ['seed', 'seeds', 'minutes', 'first']

/** What would be ignored beside an option. */
const ignoredBeside: readonly (readonly [OptionName, readonly OptionName[]])[] = [
  ['scenario', [...ofSeeds, 'threads', 'bugs', 'bug']],
  ['bugs', [...ofSeeds, 'events', 'bug']],
  ['bug', [...ofSeeds, 'events', 'threads']],
  ['minutes', ['seeds']],
]

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const typed = parse(args)
  refuseIgnored(typed)
  const { seeds, seed, minutes, scenario, bugs, bug, threads, first, events, json } = typed
  const isOne = seed !== undefined && seeds === undefined && minutes === undefined
  const count = seeds === undefined ? (isOne ? 1 : seedsDefault) : parseWhole('seeds', seeds)
  if (events && scenario === undefined && (count > 1 || minutes !== undefined)) {
    throw new UsageError('--events is of one seed or scenario: give --seed alone, or --scenario')
  }
  return {
    seed: seed === undefined ? seedDefault : parseWhole('seed', seed),
    seeds: count,
    minutes: minutes === undefined ? undefined : parseAmount('minutes', minutes, 10_080),
    scenario,
    bugs: bug === undefined ? (bugs === true ? 'all' : 'none') : { name: bug },
    threads: threads === undefined ? availableParallelism() : parseWhole('threads', threads),
    first: first ?? false,
    events: events ?? false,
    json: json ?? false,
  }
}

function refuseIgnored(typed: ReturnType<typeof parse>): void {
  for (const [name, others] of ignoredBeside) {
    const ignored = others.find((other) => typed[other] !== undefined)
    if (typed[name] === undefined || ignored === undefined) continue
    throw new UsageError(`--${name} and --${ignored} are given; only one of them can be`)
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
    events: 'boolean',
    json: 'boolean',
  })
}
