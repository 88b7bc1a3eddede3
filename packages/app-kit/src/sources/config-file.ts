import { ConfigError, type Given, type Reader, read, unacceptable } from '../settings/given.js'
import { text } from '../settings/kinds.js'
import { suggest } from '../settings/near-miss.js'
import { mayStandIn, type Setting, setting } from '../settings/settings.js'
import { readJsonObject } from './text-file.js'

/** The settings in a JSON file, by their names in camelCase. */
export function readConfigFile(reader: Reader, path: string, askedBy: string): Given[] {
  return Object.entries(readJsonObject(path, askedBy)).map(([key, value]) => {
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
  // As text, so that a file accepts what a flag accepts; but a port that is `true` is a mistake.
  if (json.some((type) => typeof value === type)) return read(name, setting, String(value), where)
  throw unacceptable(setting, value, where)
}

function unknownKey({ command, settings }: Reader, key: string, where: string): ConfigError {
  const elsewhere = settings.get(key)
  if (elsewhere !== undefined) {
    return new ConfigError(`${where} cannot be set in a file. ${elsewhere.help}`)
  }
  const known = [...settings].flatMap(([name, setting]) => {
    return mayStandIn(setting, 'file') ? [name] : []
  })
  return new ConfigError(`${where} is no setting.${suggest(key, known)} See ${command} --help.`)
}

/** With this group in its table a command reads a file of settings. */
export const configFileSettings = {
  'Configuration file': {
    config: setting(text('file'), {
      help: 'A JSON file with settings, by their names here in camelCase. Paths are relative to the working directory, in the file, too.',
      sources: ['flag', 'environment'],
    }),
  },
} as const
