import { flagOf } from '../settings/settings.js'
import type { Configuration } from '../sources/configuration.js'

/** What every command says when it ends; each may know further words. */
export const exitCodes = { done: 0, failed: 1, misconfigured: 2 } as const

/** The message of a library in the words of whoever runs the command: where it is set, not which option it is. */
export function inOwnWords(message: string, { settings, origins }: Configuration): string {
  return (
    [...settings]
      .flatMap(([name, { option }]) => (option === undefined ? [] : [[option, name] as const]))
      // The longest first: none is replaced as a part of another.
      .sort(([a], [b]) => b.length - a.length)
      .reduce(
        (text, [option, name]) => text.replaceAll(option, origins.get(name) ?? flagOf(name)),
        message,
      )
  )
}
