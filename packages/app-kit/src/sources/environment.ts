import {
  type CommandSettings,
  ConfigError,
  type GivenValue,
  parseValue,
} from '../settings/given-value.js'
import { suggest } from '../settings/near-miss.js'
import { acceptsSource, variableOf, variablePrefix } from '../settings/settings.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** Allowed in every command: a shell that sets it for workers and tools may also start the coordinator. */
const address = variableOf('coordinator')

/** Reads all `TENURE_` variables. An unknown one is most likely misspelt. */
export function readEnvironment(
  { command, settings }: CommandSettings,
  env: Environment,
  ignoresOthers = false,
): GivenValue[] {
  const known = new Map(
    [...settings].flatMap(([name, setting]) => {
      return acceptsSource(setting, 'environment') ? [[variableOf(name), { name, setting }]] : []
    }),
  )
  return Object.entries(env)
    .filter(([variable]) => variable.startsWith(variablePrefix))
    .flatMap(([variable, text = '']) => {
      const found = known.get(variable)
      if (found !== undefined) return [parseValue(found.name, found.setting, text, variable)]
      if (ignoresOthers || variable === address) return []
      const hint = suggest(variable, [...known.keys()])
      throw new ConfigError(
        `unknown environment variable ${variable}.${hint} See ${command} --help.`,
      )
    })
}
