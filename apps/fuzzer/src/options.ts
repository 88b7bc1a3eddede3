import { parseArgs } from 'node:util'
import { targetNames } from './targets.js'

export interface CommandLine {
  /** For each target. */
  readonly minutes: number
  readonly targets: readonly string[]
  readonly seed: number
  readonly json: boolean
  /** A file to try again, and nothing else. */
  readonly replay?: string
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

export class UsageError extends Error {}

export function parseCommandLine(args: readonly string[], seedDefault: number): CommandLine {
  const { minutes, target, seed, json, replay, bombs } = parse(args)
  if (target !== undefined && !targetNames.includes(target)) {
    throw new UsageError(`--target is ${target}; it must be one of ${targetNames.join(', ')}`)
  }
  return {
    minutes: amount('minutes', minutes ?? '1'),
    targets: target === undefined ? targetNames : [target],
    seed: seed === undefined ? seedDefault : whole('seed', seed),
    json: json ?? false,
    bombs: bombs ?? false,
    ...(replay !== undefined && { replay }),
  }
}

function parse(args: readonly string[]) {
  const value = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = { minutes: value, target: value, seed: value, replay: value }
  try {
    return parseArgs({
      args: args.filter((arg) => arg !== '--'),
      options: { ...options, json: flag, bombs: flag },
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
