import { ConfigError, type Given, type Reader, read, unacceptable } from '../settings/given.js'
import { text } from '../settings/kinds.js'
import { suggest } from '../settings/near-miss.js'
import { mayStandIn, type Setting, setting } from '../settings/settings.js'
import { readJsonObject } from './text-file.js'

/** Reads settings from a JSON file, by their names in camelCase. */
export function readConfigFile(reader: Reader, path: string, origin: string): Given[] {
  return Object.entries(readJsonObject(path, origin)).map(([key, value]) => {
    const where = `${path}: ${key}`
    const setting = reader.settings.get(key)
    if (setting !== undefined && mayStandIn(setting, 'file')) {
      return readValue(key, setting, value, where)
    }
    throw unknownKey(reader, key, where)
  })
}

function readValue(name: string, setting: Setting<unknown>, value: unknown, where: string): Given {
  const { json } = setting.kind
  // Parsed as text, so that the file accepts what a flag accepts; the JSON type is checked first.
  if (json.some((type) => typeof value === type)) return read(name, setting, String(value), where)
  throw unacceptable(setting, value, where)
}

function unknownKey({ command, settings }: Reader, key: string, where: string): ConfigError {
  const elsewhere = settings.get(key)
  if (elsewhere !== undefined) {
    return new ConfigError(`${where} cannot be set in the configuration file. ${elsewhere.help}`)
  }
  const known = [...settings].flatMap(([name, setting]) => {
    return mayStandIn(setting, 'file') ? [name] : []
  })
  return new ConfigError(`${where} is not a known setting.${suggest(key, known)} See ${command} --help.`)
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
