import type { Host } from '../host.js'
import { type CommandSettings, ConfigError, type GivenValue } from '../settings/given-value.js'
import { printable } from '../settings/printable.js'
import {
  acceptsSource,
  argumentOf,
  flagOf,
  type SettingName,
  type Settings,
  type SettingsByName,
  type ValuesOf,
  variableOf,
} from '../settings/settings.js'
import { readConfigFile } from './config-file.js'
import { type Environment, readEnvironment } from './environment.js'
import { isReadableByOthers } from './text-file.js'

/** The values of all settings, and their origins. */
export interface Configuration<S extends Settings = Settings> {
  readonly values: ValuesOf<S>
  readonly origins: Origins<SettingName<S>>
  readonly settings: SettingsByName
}

/** The origin of each value that is not the default: a flag, a variable, or a file and its key. */
export interface Origins<N extends string = string> {
  readonly size: number
  get(name: N): string | undefined
}

/** Merges the sources: the command line overrides the environment, then the file, then the defaults. */
export function resolveConfiguration(
  known: CommandSettings,
  typed: readonly GivenValue[],
  env: Environment,
  ignoresOthers?: boolean,
): Configuration {
  const aboveFile = [...readEnvironment(known, env, ignoresOthers), ...typed]
  const config = aboveFile.findLast(({ name }) => name === 'config')
  const fromFile =
    config === undefined ? [] : readConfigFile(known, String(config.value), config.origin)
  const values = new Map<string, unknown>(
    [...known.settings].map(([name, { fallback }]) => [name, fallback]),
  )
  const origins = new Map<string, string>()
  for (const { name, value, origin } of [...fromFile, ...aboveFile]) {
    values.set(name, value)
    origins.set(name, origin)
  }
  checkRequired(known, values)
  return { values: Object.fromEntries(values), origins, settings: known.settings }
}

function checkRequired(
  { command, settings }: CommandSettings,
  values: ReadonlyMap<string, unknown>,
): void {
  for (const [name, setting] of settings) {
    if (setting.required !== true || values.get(name) !== undefined) continue
    const [origin] = [
      ...(acceptsSource(setting, 'argument') ? [argumentOf(name)] : []),
      ...(acceptsSource(setting, 'flag') ? [flagOf(name)] : []),
      variableOf(name),
    ]
    throw new ConfigError(
      `${origin} is required; it must be ${setting.kind.accepted}. See ${command} --help.`,
    )
  }
}

/** A table of all settings with their values and origins. */
export function showConfiguration({ values, origins, settings }: Configuration): string {
  const rows = [...settings].map(([name, setting]) => {
    const value = values[name]
    const shown = value === undefined ? '-' : printable(setting.kind.format(value))
    const label = acceptsSource(setting, 'argument') ? argumentOf(name) : flagOf(name).slice(2)
    return [label, shown, printable(origins.get(name) ?? 'default')] as const
  })
  const [nameWidth, valueWidth] = [0, 1].map((column) =>
    Math.max(...rows.map((row) => row[column]!.length)),
  )
  return rows
    .map(([name, value, origin]) => {
      return `${name.padEnd(nameWidth!)}  ${value.padEnd(valueWidth!)}  ${origin}\n`
    })
    .join('')
}

/** Replaces a library's option names in a message by the places where the user set them. */
export function withSettingNames(message: string, { settings, origins }: Configuration): string {
  return (
    [...settings]
      .flatMap(([name, { option }]) => (option === undefined ? [] : [[option, name] as const]))
      // Longest first: one option name may begin with another.
      .sort(([a], [b]) => b.length - a.length)
      .reduce(
        (text, [option, name]) => text.replaceAll(option, origins.get(name) ?? flagOf(name)),
        message,
      )
  )
}

/** Deletes secrets from the environment, so that threads and child processes do not inherit them. */
export function removeSecrets({ settings }: Configuration, { env }: Pick<Host, 'env'>): void {
  for (const [name, { kind }] of settings) if (kind.isSecret === true) delete env[variableOf(name)]
}

/** Secret files that other users can read. */
export function findExposedSecrets({ values, settings }: Configuration): string[] {
  return [...settings].flatMap(([name, { isSecretFile }]) => {
    const path = isSecretFile === true ? values[name] : undefined
    return typeof path === 'string' && isReadableByOthers(path) ? [path] : []
  })
}
