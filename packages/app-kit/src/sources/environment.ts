import { ConfigError, type Given, type Reader, read } from '../settings/given.js'
import { suggest } from '../settings/near-miss.js'
import { mayStandIn, variableOf, variablePrefix } from '../settings/settings.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where the coordinator is: workers and tools are told so in a shell that may start the coordinator, too. */
const address = variableOf('coordinator')

/** Every variable of ours. One that is not known is most likely a known one, misspelt. */
export function readEnvironment(
  { command, settings }: Reader,
  env: Environment,
  ignoresOthers = false,
): Given[] {
  const known = new Map(
    [...settings].flatMap(([name, setting]) => {
      return mayStandIn(setting, 'environment') ? [[variableOf(name), { name, setting }]] : []
    }),
  )
  return Object.entries(env)
    .filter(([variable]) => variable.startsWith(variablePrefix))
    .flatMap(([variable, text = '']) => {
      const found = known.get(variable)
      if (found !== undefined) return [read(found.name, found.setting, text, variable)]
      if (ignoresOthers || variable === address) return []
      const hint = suggest(variable, [...known.keys()])
      throw new ConfigError(
        `${variable} is set in the environment, and means nothing.${hint} See ${command} --help.`,
      )
    })
}
