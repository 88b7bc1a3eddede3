import { ConfigError } from './config-error.js'
import type { Setting } from './setting.js'
import type { SettingsByName } from './settings.js'

/** Who reads values: a command by its name, and what can be set there. */
export interface Reader {
  readonly command: string
  readonly settings: SettingsByName
}

/** A value that somebody gave. */
export interface Given {
  readonly name: string
  readonly value: unknown
  /** Where it stands, in full: an argument, a flag, a variable, a file and the key in it. */
  readonly where: string
}

export function read(name: string, { kind }: Setting<unknown>, text: string, where: string): Given {
  const value = kind.parse(text)
  if (value === undefined) throw unacceptable(kind.accepted, JSON.stringify(text), where)
  return { name, value, where }
}

export function unacceptable(accepted: string, shown: string, where: string): ConfigError {
  const short = shown.length > 200 ? `${shown.slice(0, 200)}…` : shown
  return new ConfigError(`${where} is ${short}; it must be ${accepted}`)
}
