import { parseAmount, parseOptions, parseWhole } from '@tenure/harness'

export interface Options {
  /** How long faults are injected. */
  readonly faultMs: number
  /** How many tasks are submitted meanwhile: fewer, where the machine cannot do so many. */
  readonly tasks: number
  /** Of the faults and of the work; what the machine makes of them is not repeated. */
  readonly seed: number
  /** How many of each kind of isolation. */
  readonly workers: number
  /** Payloads are up to so much longer than they need to be. */
  readonly paddingBytesMax: number
  /** Whether what was written stays when everything holds, too. */
  readonly keep: boolean
}

export interface CommandLine extends Options {
  readonly json: boolean
}

export const usage = `pnpm chaos [--minutes m] [--tasks n] [--workers n] [--padding n] [--seed s] [--keep] [--json]

  --minutes   how long processes are killed and stopped (2)
  --tasks     how many tasks are submitted meanwhile, at most (25000 for each minute)
  --workers   how many workers of each kind: thread, process, inline (4)
  --padding   how many bytes payloads are longer than they need to be, at most (1024)
  --seed      of the faults and of the work (made from the time)
  --keep      keeps what everybody has written, also when everything holds
  --json      ends with one line of JSON on the standard output`

/** Two slow cores do that many beside all that goes wrong. */
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
