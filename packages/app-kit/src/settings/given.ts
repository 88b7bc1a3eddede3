import type { Setting, SettingsByName } from './settings.js'

/** What is configured is not acceptable. The message names where it stands, what was given, and what would do. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigError'
  }
}

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

export function read(name: string, setting: Setting<unknown>, text: string, where: string): Given {
  const value = setting.kind.parse(text)
  if (value === undefined) throw unacceptable(setting, text, where)
  return { name, value, where }
}

/** Never repeats what may be a secret: neither that of a file, given in its place, nor a password. */
export function unacceptable(
  { kind, isSecretFile }: Setting<unknown>,
  given: unknown,
  where: string,
): ConfigError {
  const { accepted, redact = (text) => text } = kind
  const shown = isSecretFile && given !== '' ? 'something else' : redact(JSON.stringify(given))
  const short = shown.length > 200 ? `${shown.slice(0, 200)}…` : shown
  return new ConfigError(`${where} is ${short}; it must be ${accepted}`)
}
