import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseOptions, parseWhole, UsageError } from '@tenure/harness'
import type { WorkDirectory } from './directory.js'

/** The options of the command line. */
export interface BenchOptions {
  readonly paths: boolean
  readonly json: boolean
  readonly quick: boolean
  readonly rounds: number | undefined
  readonly dir: string | undefined
  readonly out: string
}

/** Duration and size of the cases. `quick` makes them smaller but omits none. */
export interface Pace {
  readonly rounds: number
  /** No further round of appends starts if it would probably end later than this. */
  readonly appendBudgetMs: number
  readonly warmUpMs: number
  readonly windowMs: number
  readonly limitWindowMs: number
  /** Payload of the stores for crash recovery and replay. */
  readonly storeBytes: number
  readonly opens: number
  readonly replays: number
  /** For both loads together. */
  readonly rollMs: number
  readonly segmentBytes: number
  /** How many slices of the sustained load are measured, and how long each takes. */
  readonly slices: number
  readonly sliceMs: number
}

/** The context of every measurement. */
export interface Bench {
  readonly pace: Pace
  readonly directory: WorkDirectory
}

const MiB = 1024 * 1024

const full: Pace = {
  rounds: 5,
  appendBudgetMs: Number.POSITIVE_INFINITY,
  warmUpMs: 200,
  windowMs: 1000,
  limitWindowMs: 500,
  storeBytes: 1024 * MiB,
  opens: 3,
  replays: 3,
  rollMs: 20_000,
  segmentBytes: 64 * MiB,
  slices: 12,
  sliceMs: 10_000,
}

const quick: Pace = {
  rounds: 2,
  appendBudgetMs: 22_000,
  warmUpMs: 40,
  windowMs: 120,
  limitWindowMs: 80,
  storeBytes: 48 * MiB,
  opens: 2,
  replays: 2,
  rollMs: 3000,
  segmentBytes: 16 * MiB,
  slices: 2,
  sliceMs: 1000,
}

export const usage = `pnpm bench:wal [--quick] [--json] [--rounds n] [--dir path] [--out path] [--paths]

Measures @tenure/wal beside bare O_DSYNC writes of the same bytes, LMDB and LevelDB.

  --quick   under 45 seconds instead of about eight minutes; same cases, rougher figures
  --json    one JSON object per line on standard output instead of the tables
  --rounds  how often everything is measured, in alternation; medians count (5, quick: 2)
  --dir     where to write; must be on a real disk (default: the repository). A new directory
            is made there and removed at the end. Needs up to 6 GiB, quick: 1 GiB
  --out     where wal.json and wal.svg go (default: packages/wal/bench/results)
  --paths   only compares three ways to carry out one durable write: on the event loop, on
            the thread pool, in a worker thread; understands --quick, --json and --dir`

// Seen from dist/bench. The results go next to the sources, into an ignored folder.
const outDefault = fileURLToPath(new URL('../../bench/results', import.meta.url))

export function parseCommandLine(args: readonly string[]): BenchOptions {
  const { paths, json, quick, rounds, dir, out } = parseOptions(args, {
    paths: 'boolean',
    json: 'boolean',
    quick: 'boolean',
    rounds: 'string',
    dir: 'string',
    out: 'string',
  })
  return {
    paths: paths ?? false,
    json: json ?? false,
    quick: quick ?? false,
    rounds: rounds === undefined ? undefined : parseWhole('rounds', rounds),
    dir: dir === undefined ? undefined : resolve(pathOf('--dir', dir)),
    out: out === undefined ? outDefault : resolve(pathOf('--out', out)),
  }
}

export function paceOf(options: BenchOptions): Pace {
  const pace = options.quick ? quick : full
  if (options.rounds === undefined) return pace
  return { ...pace, rounds: options.rounds, appendBudgetMs: Number.POSITIVE_INFINITY }
}

function pathOf(flag: string, text: string): string {
  if (text !== '') return text
  throw new UsageError(`${flag} is empty; it must be a directory`)
}
