import { parseOptions, parseWhole } from '@tenure/harness'
import { fullScopes, quickScopes, type Scope } from './scope.js'
import { type DuelScope, fullDuels, quickDuels } from './shared/explore-duel.js'

export interface CommandLine {
  readonly scopes: readonly Scope[]
  readonly duels: readonly DuelScope[]
  readonly statesMax: number
  readonly json: boolean
}

export const usage = `pnpm explore [--quick] [--states n] [--json]

  --quick   explore narrower bounds, which takes a few seconds
  --states  stop each part after this many states
  --json    print the summary as one line of JSON`

export function parseCommandLine(args: readonly string[]): CommandLine {
  const { quick, states, json } = parseOptions(args, {
    quick: 'boolean',
    json: 'boolean',
    states: 'string',
  })
  return {
    scopes: quick ? quickScopes : fullScopes,
    duels: quick ? quickDuels : fullDuels,
    statesMax: states === undefined ? Number.POSITIVE_INFINITY : parseWhole('states', states),
    json: json ?? false,
  }
}
