import { printable } from '../settings/printable.js'
import { argumentOf, flagOf, mayStandIn } from '../settings/setting.js'
import type { Configuration } from './configuration.js'

/** What everything is set to and where that came from, as a table. */
export function showConfiguration({ values, origins, settings }: Configuration): string {
  const rows = [...settings].map(([name, setting]) => {
    const value = values[name]
    const shown = value === undefined ? '-' : printable(setting.kind.format(value))
    const label = mayStandIn(setting, 'argument') ? argumentOf(name) : flagOf(name).slice(2)
    return [label, shown, printable(origins.get(name) ?? 'default')] as const
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
