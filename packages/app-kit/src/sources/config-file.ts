import {
  type CommandSettings,
  ConfigError,
  type GivenValue,
  invalidValue,
  parseValue,
} from '../settings/given-value.js'
import { text } from '../settings/kinds.js'
import { suggest } from '../settings/near-miss.js'
import { acceptsSource, type Setting, setting } from '../settings/settings.js'
import { readJsonObject } from './text-file.js'

/** Reads settings from a JSON file, by their names in camelCase. */
export function readConfigFile(known: CommandSettings, path: string, origin: string): GivenValue[] {
  return Object.entries(readJsonObject(path, origin)).map(([key, value]) => {
    const origin = `${path}: ${key}`
    const setting = known.settings.get(key)
    if (setting !== undefined && acceptsSource(setting, 'file')) {
      return readValue(key, setting, value, origin)
    }
    throw unknownKey(known, key, origin)
  })
}

function readValue(
  name: string,
  setting: Setting<unknown>,
  value: unknown,
  origin: string,
): GivenValue {
  const { json } = setting.kind
  // Parsed as text, so that the file accepts what a flag accepts; the JSON type is checked first.
  if (json.some((type) => typeof value === type))
    return parseValue(name, setting, String(value), origin)
  throw invalidValue(setting, value, origin)
}

function unknownKey(
  { command, settings }: CommandSettings,
  key: string,
  origin: string,
): ConfigError {
  const elsewhere = settings.get(key)
  if (elsewhere !== undefined) {
    return new ConfigError(`${origin} cannot be set in the configuration file. ${elsewhere.help}`)
  }
  const known = [...settings].flatMap(([name, setting]) => {
    return acceptsSource(setting, 'file') ? [name] : []
  })
  return new ConfigError(
    `${origin} is not a known setting.${suggest(key, known)} See ${command} --help.`,
  )
}

/** A command with this group reads a configuration file. */
export const configFileSettings = {
  'Configuration file': {
    config: setting(text('file'), {
      help: 'JSON file with settings named in camelCase; relative paths in it start at the working directory.',
      sources: ['flag', 'environment'],
    }),
  },
} as const
