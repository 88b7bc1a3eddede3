import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** What the command line asks for. */
export interface BenchOptions {
  readonly mode: 'help' | 'paths' | 'bench'
  readonly json: boolean
  readonly quick: boolean
  readonly rounds: number | undefined
  readonly dir: string | undefined
  readonly out: string
}

/** How long and how large; `quick` shrinks it, and never leaves a case out. */
export interface Pace {
  readonly rounds: number
  /** No further round of appends begins when it would probably end later than this. */
  readonly appendBudgetMs: number
  readonly warmUpMs: number
  readonly windowMs: number
  readonly limitWindowMs: number
  /** Payload in the stores that are opened after a crash and replayed. */
  readonly storeBytes: number
  readonly opens: number
  readonly replays: number
  /** For both loads together. */
  readonly rollMs: number
  readonly rollSegmentBytes: number
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
  rollSegmentBytes: 64 * MiB,
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
  rollSegmentBytes: 16 * MiB,
}

export const help = `Measures @tenure/wal beside bare O_DSYNC writes of the same bytes, LMDB and LevelDB.

  --quick       under 45 seconds instead of about six minutes; same cases, rougher figures
  --json        one JSON object per line on standard output instead of the tables
  --rounds <n>  how often everything is measured, in alternation; medians count (5, quick: 2)
  --dir <path>  where to write; must be on a real disk (default: the repository). A new directory
                is made there and removed at the end. Needs up to 12 GiB, quick: 2 GiB
  --out <path>  where wal.json and wal.svg go (default: packages/wal/bench/results)
  --paths       only compares three ways to carry out one durable write: on the event loop, on
                the thread pool, in a worker thread; understands --quick, --json and --dir
  --help        this text
`

export class UsageError extends Error {}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

export function readOptions(args: readonly string[], defaultOut: string): BenchOptions {
  const { values } = parse(args)
  return {
    mode: values.help ? 'help' : values.paths ? 'paths' : 'bench',
    json: values.json,
    quick: values.quick,
    rounds: values.rounds === undefined ? undefined : countOf('--rounds', values.rounds, 100),
    dir: values.dir === undefined ? undefined : resolve(pathOf('--dir', values.dir)),
    out: resolve(values.out === undefined ? defaultOut : pathOf('--out', values.out)),
  }
}

export function paceOf(options: BenchOptions): Pace {
  const pace = options.quick ? quick : full
  if (options.rounds === undefined) return pace
  return { ...pace, rounds: options.rounds, appendBudgetMs: Number.POSITIVE_INFINITY }
}

function parse(args: readonly string[]) {
  // pnpm hands the `--` of `pnpm bench:wal -- --quick` on.
  const given = args[0] === '--' ? args.slice(1) : [...args]
  try {
    return parseArgs({
      args: given,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        paths: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        rounds: { type: 'string' },
        dir: { type: 'string' },
        out: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}

function countOf(flag: string, text: string, max: number): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= max) return count
  throw new UsageError(`${flag} is "${text}"; it has to be a whole number from 1 to ${max}`)
}

function pathOf(flag: string, text: string): string {
  if (text !== '') return text
  throw new UsageError(`${flag} is empty; it has to name a directory`)
}
