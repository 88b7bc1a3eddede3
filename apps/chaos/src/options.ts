import { parseArgs } from 'node:util'

export interface Options {
  /** How long faults are injected. */
  readonly faultMs: number
  /** How many tasks are submitted meanwhile. */
  readonly tasks: number
  /** Of the faults and of the work; what the machine makes of them is not repeated. */
  readonly seed: number
  /** How many of each kind of isolation. */
  readonly workers: number
}

export interface CommandLine extends Options {
  readonly json: boolean
}

export const usage = `pnpm chaos [--minutes m] [--tasks n] [--workers n] [--seed s] [--json]

  --minutes   how long processes are killed and stopped (2)
  --tasks     how many tasks are submitted meanwhile (50000)
  --workers   how many workers of each kind: thread, process, inline (4)
  --seed      of the faults and of the work (made from the time)
  --json      ends with one line of JSON on the standard output`

export class UsageError extends Error {}

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const { minutes, tasks, workers, seed, json } = parse(args)
  return {
    faultMs: amount('minutes', minutes ?? '2') * 60_000,
    tasks: whole('tasks', tasks ?? '50000'),
    workers: whole('workers', workers ?? '4'),
    seed: seed === undefined ? seedDefault : whole('seed', seed),
    json: json ?? false,
  }
}

function parse(args: readonly string[]) {
  const value = { type: 'string' } as const
  const options = { minutes: value, tasks: value, workers: value, seed: value }
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: { ...options, json: { type: 'boolean' } },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function amount(name: string, given: string): number {
  const value = Number(given)
  if (value > 0 && value <= 1440) return value
  throw new UsageError(`--${name} is ${given}; it must be a number above 0, up to 1440`)
}

function whole(name: string, given: string): number {
  const value = Number(given)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new UsageError(`--${name} is ${given}; it must be a whole number above 0`)
}
