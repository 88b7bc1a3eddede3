import { parseArgs } from 'node:util'
import {
  type CommandSettings,
  ConfigError,
  type GivenValue,
  parseValue,
} from '../settings/given-value.js'
import { suggest } from '../settings/near-miss.js'
import {
  acceptsSource,
  argumentOf,
  flagOf,
  type Setting,
  variableOf,
} from '../settings/settings.js'

/** Flags that print something instead of running the command. */
export const actions = {
  help: 'Show this help.',
  version: 'Show the version.',
  printConfig: 'Show the value and the origin of each setting without running the command.',
} as const

export type Action = keyof typeof actions

/** The customary short forms. */
export const shortFlags: Readonly<Record<string, Action>> = {
  '-h': 'help',
  '-V': 'version',
  '-v': 'version',
}

export const actionNames = Object.keys(actions) as Action[]

export interface CommandLine {
  readonly action: Action | undefined
  readonly given: readonly GivenValue[]
}

type Named = readonly [name: string, setting: Setting<unknown>]

/** Reads the words after the command. The last value of a repeated flag counts. */
export function readCommandLine(known: CommandSettings, args: readonly string[]): CommandLine {
  const flags = new Map(namedIn(known, 'flag').map((named) => [flagOf(named[0]), named]))
  const awaited = namedIn(known, 'argument')
  // Not strict: unknown flags get our own error messages.
  const options = optionsFor([...flags.values()])
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true })
  const given: GivenValue[] = []
  let action: Action | undefined
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue
    if (token.kind === 'positional') {
      const named = awaited[0]?.[1].takesSeveral ? awaited[0] : awaited.shift()
      given.push(readArgument(known, named, token.value))
      continue
    }
    const asked =
      shortFlags[token.rawName] ?? actionNames.find((name) => flagOf(name) === token.rawName)
    if (asked !== undefined) action ??= asked
    else given.push(readFlag(known, flags, token.rawName, textOf(token)))
  }
  return { action, given: gather(known, given) }
}

/** Joins the words of an argument that takes several into one value. */
function gather({ settings }: CommandSettings, given: readonly GivenValue[]): GivenValue[] {
  const isPart = ({ name }: GivenValue) => settings.get(name)?.takesSeveral ?? false
  const parts = given.filter(isPart)
  const [first] = parts
  if (first === undefined) return [...given]
  const whole = { ...first, value: parts.flatMap(({ value }) => value) }
  return [...given.filter((one) => !isPart(one)), whole]
}

function namedIn({ settings }: CommandSettings, source: 'argument' | 'flag'): Named[] {
  return [...settings].filter(([, setting]) => acceptsSource(setting, source))
}

function readArgument(
  { command, settings }: CommandSettings,
  named: Named | undefined,
  text: string,
) {
  if (named !== undefined) return parseValue(...named, text, argumentOf(named[0]))
  const takesSome = [...settings.values()].some((setting) => acceptsSource(setting, 'argument'))
  const why = takesSome ? 'there are too many' : 'only flags are allowed'
  throw new ConfigError(
    `unexpected argument "${withoutValue(text)}": ${why}. See ${command} --help.`,
  )
}

/** Hides the value of a flag after `--`, and of a variable after the command: it may be a secret. */
function withoutValue(text: string): string {
  return /^(?:--|TENURE_)[^=]+(?==)/.exec(text)?.[0] ?? text
}

function readFlag(
  known: CommandSettings,
  flags: ReadonlyMap<string, Named>,
  flag: string,
  text: string | undefined,
): GivenValue {
  const named = flags.get(flag)
  if (named === undefined) throw unknownFlag(known, flags, flag)
  const { kind } = named[1]
  if (kind.placeholder === undefined) return parseValue(...named, text ?? 'true', flag)
  if (text === undefined) {
    throw new ConfigError(`${flag} requires a value; it must be ${kind.accepted}`)
  }
  return parseValue(...named, text, flag)
}

interface OptionToken {
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

/** `parseArgs` takes the next flag as the value if the value is missing. */
function textOf({ value, inlineValue }: OptionToken): string | undefined {
  return inlineValue !== true && value?.startsWith('--') ? undefined : value
}

function unknownFlag(
  { command, settings }: CommandSettings,
  flags: ReadonlyMap<string, Named>,
  flag: string,
): ConfigError {
  const [name = '', elsewhere] = [...settings].find(([known]) => flagOf(known) === flag) ?? []
  if (elsewhere !== undefined && acceptsSource(elsewhere, 'argument')) {
    return new ConfigError(`${flag} is not a flag; pass ${argumentOf(name)} as an argument.`)
  }
  if (elsewhere !== undefined) {
    const { help } = elsewhere
    return new ConfigError(
      `other users can see flags; set ${variableOf(name)} instead of ${flag}. ${help}`,
    )
  }
  const known = [...flags.keys(), ...actionNames.map(flagOf)]
  return new ConfigError(`unknown flag ${flag}.${suggest(flag, known)} See ${command} --help.`)
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
