import { parseArgs } from 'node:util'
import { fullScopes, quickScopes, type Scope } from './scope.js'

export interface CommandLine {
  readonly scopes: readonly Scope[]
  readonly statesMax: number
  readonly json: boolean
}

export const usage = `pnpm explore [--quick] [--states n] [--json]

  --quick   narrower bounds, for a few seconds
  --states  stops each part when so many states are known
  --json    ends with one line of JSON on the standard output`

export class UsageError extends Error {}

export function parseCommandLine(args: readonly string[]): CommandLine {
  const { quick, states, json } = parse(args)
  return {
    scopes: quick ? quickScopes : fullScopes,
    statesMax: states === undefined ? Number.POSITIVE_INFINITY : whole('states', states),
    json: json ?? false,
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const
  const options = { quick: flag, json: flag, states: { type: 'string' } } as const
  try {
    return parseArgs({ args: args.filter((arg) => arg !== '--'), options }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
}

function whole(name: string, given: string): number {
  const value = Number(given)
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new UsageError(`--${name} is ${given}; it must be a whole number above 0`)
}
