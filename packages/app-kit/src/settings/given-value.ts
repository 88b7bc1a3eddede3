import type { Setting, SettingsByName } from './settings.js'

/** An invalid configuration. The message names the origin, the value and what is expected. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConfigError'
  }
}

/** A command and its settings, as the sources need them. */
export interface CommandSettings {
  readonly command: string
  readonly settings: SettingsByName
}

/** A value that was set, as opposed to a default. */
export interface GivenValue {
  readonly name: string
  readonly value: unknown
  /** The origin: an argument, a flag, a variable, or a file and its key. */
  readonly origin: string
}

export function parseValue(
  name: string,
  setting: Setting<unknown>,
  text: string,
  origin: string,
): GivenValue {
  const value = setting.kind.parse(text)
  if (value === undefined) throw invalidValue(setting, text, origin)
  return { name, value, origin }
}

/** Never repeats a value that may be a secret: a token given instead of its file, or a password in a URL. */
export function invalidValue(
  { kind, isSecretFile }: Setting<unknown>,
  given: unknown,
  origin: string,
): ConfigError {
  const { accepted, describe = (text) => text } = kind
  const shown = isSecretFile && given !== '' ? 'not a file name' : describe(JSON.stringify(given))
  const short = shown.length > 200 ? `${shown.slice(0, 200)}…` : shown
  return new ConfigError(`${origin} is ${short}; it must be ${accepted}`)
}
