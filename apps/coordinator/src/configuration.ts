import { readConfigFile } from './config-file.js'
import { type Environment, readEnvironment } from './environment.js'
import type { Given } from './given.js'
import { type SettingName, settingNames, settingOf, type Values } from './settings.js'

/** What everything is set to, and where that came from. */
export interface Configuration {
  readonly values: Values
  /** Where each value that is not the default stands. */
  readonly origins: ReadonlyMap<SettingName, string>
}

/** Flags go before the environment, that before the file, that before the defaults. */
export function configure(flags: readonly Given[], env: Environment): Configuration {
  const aboveFile = [...readEnvironment(env), ...flags]
  const config = aboveFile.findLast(({ name }) => name === 'config')
  const fromFile = config === undefined ? [] : readConfigFile(String(config.value), config.where)
  const values = new Map<SettingName, unknown>(
    settingNames.map((name) => [name, settingOf(name).fallback]),
  )
  const origins = new Map<SettingName, string>()
  for (const { name, value, where } of [...fromFile, ...aboveFile]) {
    values.set(name, value)
    origins.set(name, where)
  }
  return { values: Object.fromEntries(values) as unknown as Values, origins }
}
