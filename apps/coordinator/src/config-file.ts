import { ConfigError } from './config-error.js'
import { type Given, read, unacceptable } from './given.js'
import { suggest } from './near-miss.js'
import { mayStandIn } from './setting.js'
import { type SettingName, settingNames, settingOf } from './settings.js'
import { readJsonObject } from './text-file.js'

const known = settingNames.filter((name) => mayStandIn(settingOf(name), 'file'))

/** The settings in a JSON file, by their names in camelCase. */
export function readConfigFile(path: string, askedBy: string): Given[] {
  return Object.entries(readJsonObject(path, askedBy)).map(([key, value]) => {
    const where = `${path}: ${key}`
    const name = known.find((name) => name === key)
    if (name === undefined) throw unknownKey(key, where)
    return readValue(name, value, where)
  })
}

function readValue(name: SettingName, value: unknown, where: string): Given {
  const { json } = settingOf(name).kind
  // As text, so that a file accepts what a flag accepts; but a port that is `true` is a mistake.
  if (json.some((type) => typeof value === type)) return read(name, String(value), where)
  throw unacceptable(name, JSON.stringify(value), where)
}

function unknownKey(key: string, where: string): ConfigError {
  const elsewhere = settingNames.find((name) => name === key)
  if (elsewhere !== undefined) {
    return new ConfigError(`${where} cannot be set in a file. ${settingOf(elsewhere).help}`)
  }
  return new ConfigError(
    `${where} is no setting.${suggest(key, known)} See tenure-coordinator --help.`,
  )
}
