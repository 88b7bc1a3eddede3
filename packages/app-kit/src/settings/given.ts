import type { Setting, SettingsByName } from './settings.js'

/** An invalid configuration. The message names the origin, the value and what is expected. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigError'
  }
}

/** A command and its settings, as the sources need them. */
export interface Reader {
  readonly command: string
  readonly settings: SettingsByName
}

/** A value that was set, as opposed to a default. */
export interface Given {
  readonly name: string
  readonly value: unknown
  /** The origin: an argument, a flag, a variable, or a file and its key. */
  readonly where: string
}

export function read(name: string, setting: Setting<unknown>, text: string, where: string): Given {
  const value = setting.kind.parse(text)
  if (value === undefined) throw unacceptable(setting, text, where)
  return { name, value, where }
}

/** Never repeats a value that may be a secret: a token given instead of its file, or a password in a URL. */
export function unacceptable(
  { kind, isSecretFile }: Setting<unknown>,
  given: unknown,
  where: string,
): ConfigError {
  const { accepted, redact = (text) => text } = kind
  const shown = isSecretFile && given !== '' ? 'not a file name' : redact(JSON.stringify(given))
  const short = shown.length > 200 ? `${shown.slice(0, 200)}…` : shown
  return new ConfigError(`${where} is ${short}; it must be ${accepted}`)
}
