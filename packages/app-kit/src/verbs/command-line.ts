import { parseArgs } from 'node:util'
import { ConfigError, type Given, type Reader, read } from '../settings/given.js'
import { suggest } from '../settings/near-miss.js'
import { argumentOf, flagOf, mayStandIn, type Setting, variableOf } from '../settings/settings.js'

/** What can be asked for in place of a run. */
export const actions = {
  help: 'Shows this.',
  version: 'Shows the version.',
  printConfig: 'Shows what everything is set to, and where that came from.',
} as const

export type Action = keyof typeof actions

/** What other programs are asked with. */
export const shortFlags: Readonly<Record<string, Action>> = {
  '-h': 'help',
  '-V': 'version',
  '-v': 'version',
}

export const actionNames = Object.keys(actions) as Action[]

export interface CommandLine {
  readonly action: Action | undefined
  readonly given: readonly Given[]
}

type Named = readonly [name: string, setting: Setting<unknown>]

/** What is typed behind the command. Of a flag that is given twice the last one counts. */
export function readCommandLine(reader: Reader, args: readonly string[]): CommandLine {
  const flags = new Map(namedIn(reader, 'flag').map((named) => [flagOf(named[0]), named]))
  const awaited = namedIn(reader, 'argument')
  // What is wrong is said in our own words, so the parser may not be strict.
  const options = optionsFor([...flags.values()])
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const given: Given[] = []
  let action: Action | undefined
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') {
      const named = awaited[0]?.[1].takesSeveral ? awaited[0] : awaited.shift()
      given.push(readArgument(reader, named, token.value))
      continue
    }
    const asked =
      shortFlags[token.rawName] ?? actionNames.find((name) => flagOf(name) === token.rawName)
    if (asked !== undefined) action ??= asked
    else given.push(readFlag(reader, flags, token.rawName, textOf(token)))
  }
  return { action, given: gather(reader, given) }
}

/** The words of the argument that takes several are one value. */
function gather({ settings }: Reader, given: readonly Given[]): Given[] {
  const isPart = ({ name }: Given) => settings.get(name)?.takesSeveral ?? false
  const parts = given.filter(isPart)
  const [first] = parts
  if (first === undefined) return [...given]
  const whole = { ...first, value: parts.flatMap(({ value }) => value) }
  return [...given.filter((one) => !isPart(one)), whole]
}

function namedIn({ settings }: Reader, source: 'argument' | 'flag'): Named[] {
  return [...settings].filter(([, setting]) => mayStandIn(setting, source))
}

function readArgument({ command, settings }: Reader, named: Named | undefined, text: string) {
  if (named !== undefined) return read(...named, text, argumentOf(named[0]))
  const takesSome = [...settings.values()].some((setting) => mayStandIn(setting, 'argument'))
  const why = takesSome ? 'nothing more is expected' : 'there are only flags'
  throw new ConfigError(`"${withoutValue(text)}" is not understood: ${why}. See ${command} --help.`)
}

/** A flag behind `--` may carry a secret, as may a variable that stands behind the command. */
function withoutValue(text: string): string {
  return /^(?:--|TENURE_)[^=]+(?==)/.exec(text)?.[0] ?? text
}

function readFlag(
  reader: Reader,
  flags: ReadonlyMap<string, Named>,
  flag: string,
  text: string | undefined,
): Given {
  const named = flags.get(flag)
  if (named === undefined) throw unknownFlag(reader, flags, flag)
  const { kind } = named[1]
  if (kind.placeholder === undefined) return read(...named, text ?? 'true', flag)
  if (text === undefined) {
    throw new ConfigError(`${flag} needs a value; it must be ${kind.accepted}`)
  }
  return read(...named, text, flag)
}

interface OptionToken {
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

/** The parser takes the next flag for a value when the value is missing. */
function textOf({ value, inlineValue }: OptionToken): string | undefined {
  return inlineValue !== true && value?.startsWith('--') ? undefined : value
}

function unknownFlag(
  { command, settings }: Reader,
  flags: ReadonlyMap<string, Named>,
  flag: string,
): ConfigError {
  const [name = '', elsewhere] = [...settings].find(([known]) => flagOf(known) === flag) ?? []
  if (elsewhere !== undefined && mayStandIn(elsewhere, 'argument')) {
    return new ConfigError(`${flag} is no flag: give ${argumentOf(name)} without one.`)
  }
  if (elsewhere !== undefined) {
    const { help } = elsewhere
    return new ConfigError(`${flag} would be seen by others: set ${variableOf(name)}. ${help}`)
  }
  const known = [...flags.keys(), ...actionNames.map(flagOf)]
  return new ConfigError(`${flag} is no flag.${suggest(flag, known)} See ${command} --help.`)
}

function optionsFor(named: readonly Named[]) {
  return Object.fromEntries([
    ...named.map(([name, { kind }]) => {
      const type = kind.placeholder === undefined ? 'boolean' : 'string'
      return [flagOf(name).slice(2), { type }] as const
    }),
    ...actionNames.map((name) => [flagOf(name).slice(2), { type: 'boolean' }] as const),
  ])
}
