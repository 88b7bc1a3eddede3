import { parseArgs } from 'node:util'
import { ConfigError } from './config-error.js'
import { type Given, read } from './given.js'
import { suggest } from './near-miss.js'
import { flagOf, mayStandIn, variableOf } from './setting.js'
import { type SettingName, settingNames, settingOf } from './settings.js'

/** What can be asked for in place of a start. */
export const actions = {
  help: 'Shows this.',
  version: 'Shows the version.',
  printConfig: 'Shows what everything is set to, and where that came from.',
} as const

export type Action = keyof typeof actions

export interface Flags {
  readonly action: Action | undefined
  readonly given: readonly Given[]
}

const actionNames = Object.keys(actions) as Action[]
const names = settingNames.filter((name) => mayStandIn(settingOf(name), 'flag'))
const byFlag = new Map<string, SettingName>(names.map((name) => [flagOf(name), name]))
const actionByFlag = new Map<string, Action>(actionNames.map((name) => [flagOf(name), name]))

/** The command line. Of a flag that is given twice the last one counts. */
export function readFlags(args: readonly string[]): Flags {
  // What is wrong is said in our own words, so the parser may not be strict.
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const given: Given[] = []
  let action: Action | undefined
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') {
      throw new ConfigError(
        `"${token.value}" is not understood: there are only flags. See tenure-coordinator --help.`,
      )
    }
    const asked = actionByFlag.get(token.rawName)
    if (asked !== undefined) action ??= asked
    else given.push(readFlag(token.rawName, textOf(token)))
  }
  return { action, given }
}

function readFlag(flag: string, value: string | undefined): Given {
  const name = byFlag.get(flag)
  if (name === undefined) throw unknownFlag(flag)
  const { kind } = settingOf(name)
  if (kind.placeholder === undefined) return read(name, value ?? 'true', flag)
  if (value === undefined)
    throw new ConfigError(`${flag} needs a value; it must be ${kind.accepted}`)
  return read(name, value, flag)
}

interface OptionToken {
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

/** The parser takes the next flag for a value when the value is missing. */
function textOf({ value, inlineValue }: OptionToken): string | undefined {
  return inlineValue !== true && value?.startsWith('--') ? undefined : value
}

function unknownFlag(flag: string): ConfigError {
  const name = settingNames.find((known) => flagOf(known) === flag)
  if (name !== undefined) {
    const { help } = settingOf(name)
    return new ConfigError(`${flag} would be seen by others: set ${variableOf(name)}. ${help}`)
  }
  const known = [...byFlag.keys(), ...actionByFlag.keys()]
  return new ConfigError(
    `${flag} is no flag.${suggest(flag, known)} See tenure-coordinator --help.`,
  )
}

const options = Object.fromEntries([
  ...names.map((name) => {
    const takesValue = settingOf(name).kind.placeholder !== undefined
    return [flagOf(name).slice(2), { type: takesValue ? 'string' : 'boolean' }] as const
  }),
  ...actionNames.map((name) => [flagOf(name).slice(2), { type: 'boolean' }] as const),
])
