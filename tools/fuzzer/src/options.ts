import { parseAmount, parseOptions, parseWhole, UsageError } from '@tenure/harness'
import { targetNames } from './targets.js'

export interface CommandLine {
  /** For each target. */
  readonly minutes: number
  readonly targets: readonly string[]
  readonly seed: number
  readonly json: boolean
  /** A file to try again, and nothing else. */
  readonly replay: string | undefined
  readonly bombs: boolean
}

export const usage = `pnpm fuzz [--minutes m] [--target name] [--seed s] [--json]
pnpm fuzz --replay file [--json]
pnpm fuzz --bombs [--minutes m] [--json]

  --minutes   how long each target is tried, or how long bombs are thrown (1)
  --target    one of ${targetNames.join(', ')}; all of them, where none is named
  --seed      the same seed tries the same inputs (made from the time)
  --json      ends with one line of JSON on the standard output
  --replay    tries the input of a finding again
  --bombs     sends what asks for memory, depth or classes to a real coordinator with a small heap`

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const typed = parse(args)
  refuseStrangers(typed)
  const { minutes, target, seed, json, replay, bombs } = typed
  if (target !== undefined && !targetNames.includes(target)) {
    throw new UsageError(`--target is ${target}; it must be one of ${targetNames.join(', ')}`)
  }
  return {
    minutes: parseAmount('minutes', minutes ?? '1', 1440),
    targets: target === undefined ? targetNames : [target],
    seed: seed === undefined ? seedDefault : parseWhole('seed', seed),
    json: json ?? false,
    bombs: bombs ?? false,
    replay,
  }
}

/** What is of no use beside what. */
const strangers = {
  replay: ['bombs', 'minutes', 'target', 'seed'],
  bombs: ['target', 'seed'],
} as const

function refuseStrangers(typed: ReturnType<typeof parse>): void {
  for (const mode of ['replay', 'bombs'] as const) {
    if (typed[mode] === undefined) continue
    const stranger = strangers[mode].find((name) => typed[name] !== undefined)
    if (stranger === undefined) continue
    throw new UsageError(`--${stranger} is given beside --${mode}; it must be left out there`)
  }
}

function parse(args: readonly string[]) {
  return parseOptions(args, {
    minutes: 'string',
    target: 'string',
    seed: 'string',
    replay: 'string',
    json: 'boolean',
    bombs: 'boolean',
  })
}
