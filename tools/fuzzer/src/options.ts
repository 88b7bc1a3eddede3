import { parseAmount, parseOptions, parseWhole, UsageError } from '@tenure/harness'
import { targetNames } from './targets.js'

export interface CommandLine {
  /** For each target. */
  readonly minutes: number
  readonly targets: readonly string[]
  readonly seed: number
  readonly json: boolean
  /** A file with a finding to replay; excludes the other modes. */
  readonly replay: string | undefined
  readonly bombs: boolean
}

export const usage = `pnpm fuzz [--minutes m] [--target name] [--seed s] [--json]
       pnpm fuzz --replay file [--json]
       pnpm fuzz --bombs [--minutes m] [--json]

  --minutes   minutes for each target, or of bombs (default 1)
  --target    one of ${targetNames.join(', ')} (default all)
  --seed      seed of the inputs (default: taken from the clock)
  --json      print the summary as one line of JSON
  --replay    replay the input of a finding
  --bombs     attack a real coordinator with a small heap: messages that ask for memory, depth or classes`

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const typed = parse(args)
  rejectExcludedOptions(typed)
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

/** Options that each mode excludes. */
const excluded = {
  replay: ['bombs', 'minutes', 'target', 'seed'],
  bombs: ['target', 'seed'],
} as const

function rejectExcludedOptions(typed: ReturnType<typeof parse>): void {
  for (const mode of ['replay', 'bombs'] as const) {
    if (typed[mode] === undefined) continue
    const option = excluded[mode].find((name) => typed[name] !== undefined)
    if (option === undefined) continue
    throw new UsageError(`--${mode} and --${option} are mutually exclusive`)
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
