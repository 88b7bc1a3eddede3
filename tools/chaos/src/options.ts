import { parseAmount, parseOptions, parseWhole } from '@tenure/harness'

export interface Options {
  /** How long faults are injected. */
  readonly faultMs: number
  /** Maximum number of submitted tasks; a slow machine submits fewer. */
  readonly tasks: number
  /** Seed of the faults and of the work; the timing of the machine is not repeatable. */
  readonly seed: number
  /** Workers of each isolation. */
  readonly workers: number
  /** Maximum number of padding bytes in a payload. */
  readonly paddingBytesMax: number
  /** Keep all files even when every check holds. */
  readonly keep: boolean
}

export interface CommandLine extends Options {
  readonly json: boolean
}

export const usage = `pnpm chaos [--minutes m] [--tasks n] [--workers n] [--padding n] [--seed s] [--keep] [--json]

  --minutes   minutes of faults (default 2)
  --tasks     maximum number of tasks to submit (default 25000 a minute)
  --workers   number of workers of each isolation: thread, process, inline (default 4)
  --padding   maximum number of padding bytes in a payload (default 1024)
  --seed      seed of the faults and the work (default: taken from the clock)
  --keep      keep all files, even when every check holds
  --json      print the summary as one line of JSON`

/** A rate that two slow cores reach under faults. */
const tasksPerMinute = 25_000

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const {
    minutes: time,
    tasks,
    workers,
    padding,
    seed,
    keep,
    json,
  } = parseOptions(args, {
    minutes: 'string',
    tasks: 'string',
    workers: 'string',
    padding: 'string',
    seed: 'string',
    keep: 'boolean',
    json: 'boolean',
  })
  const minutes = parseAmount('minutes', time ?? '2', 1440)
  return {
    faultMs: minutes * 60_000,
    tasks: tasks === undefined ? Math.ceil(minutes * tasksPerMinute) : parseWhole('tasks', tasks),
    workers: parseWhole('workers', workers ?? '4'),
    paddingBytesMax: parseWhole('padding', padding ?? '1024'),
    seed: seed === undefined ? seedDefault : parseWhole('seed', seed),
    keep: keep ?? false,
    json: json ?? false,
  }
}
