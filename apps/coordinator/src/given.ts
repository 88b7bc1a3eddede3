import { ConfigError } from './config-error.js'
import { type SettingName, settingOf } from './settings.js'

/** A value that somebody gave. */
export interface Given {
  readonly name: SettingName
  readonly value: unknown
  /** Where it stands, in full: a flag, a variable, a file and the key in it. */
  readonly where: string
}

export function read(name: SettingName, text: string, where: string): Given {
  const value = settingOf(name).kind.parse(text)
  if (value === undefined) throw unacceptable(name, JSON.stringify(text), where)
  return { name, value, where }
}

export function unacceptable(name: SettingName, shown: string, where: string): ConfigError {
  const short = shown.length > 200 ? `${shown.slice(0, 200)}…` : shown
  return new ConfigError(`${where} is ${short}; it must be ${settingOf(name).kind.accepted}`)
}
