import { flagOf } from '../settings/settings.js'
import type { Configuration } from '../sources/configuration.js'

/** The exit codes of every command; a command may add its own. */
export const exitCodes = { done: 0, failed: 1, misconfigured: 2 } as const

/** Replaces a library's option names in a message by the places where the user set them. */
export function inOwnWords(message: string, { settings, origins }: Configuration): string {
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
