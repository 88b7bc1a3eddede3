import { ConfigError } from './config-error.js'
import { type Given, read } from './given.js'
import { suggest } from './near-miss.js'
import { mayStandIn, variableOf, variablePrefix } from './setting.js'
import { type SettingName, settingNames, settingOf } from './settings.js'

export type Environment = Readonly<Record<string, string | undefined>>

const names = settingNames.filter((name) => mayStandIn(settingOf(name), 'environment'))
const byVariable = new Map<string, SettingName>(names.map((name) => [variableOf(name), name]))

/** Every variable of ours. One that is not known is most likely a known one, misspelt. */
export function readEnvironment(env: Environment): Given[] {
  return Object.entries(env)
    .filter(([variable]) => variable.startsWith(variablePrefix))
    .map(([variable, text = '']) => {
      const name = byVariable.get(variable)
      if (name !== undefined) return read(name, text, variable)
      const hint = suggest(variable, [...byVariable.keys()])
      throw new ConfigError(
        `${variable} is set in the environment, and means nothing.${hint} See tenure-coordinator --help.`,
      )
    })
}
