import type { Configuration } from './configuration.js'
import { flagOf } from './setting.js'
import { settingNames, settingOf } from './settings.js'

/** What everything is set to and where that came from, as a table. */
export function showConfiguration({ values, origins }: Configuration): string {
  const rows = settingNames.map((name) => {
    const value = values[name]
    const shown = value === undefined ? '-' : settingOf(name).kind.format(value)
    return [flagOf(name).slice(2), shown, origins.get(name) ?? 'default'] as const
  })
  const [nameWidth, valueWidth] = [0, 1].map((column) =>
    Math.max(...rows.map((row) => row[column]!.length)),
  )
  return rows
    .map(([name, value, origin]) => {
      return `${name.padEnd(nameWidth!)}  ${value.padEnd(valueWidth!)}  ${origin}\n`
    })
    .join('')
}
