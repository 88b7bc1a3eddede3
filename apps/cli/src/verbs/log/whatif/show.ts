import { wrap } from '@tenure/app-kit'
import type { Forecast } from '@tenure/history'
import { showColumns } from '../../../show/columns.js'
import type { Look } from '../../../terminal/look.js'
import { countOf, showCount } from '../../../terminal/numbers.js'
import { showTime } from '../../../terminal/times.js'
import { causeColumns, changeColumns } from '../../../what-if/show-changes.js'
import { showKnobs } from '../../../what-if/show-knobs.js'
import { showSides } from '../../../what-if/show-sides.js'

/** The record and what it would have been, side by side; why they differ; what has to be believed. */
export function showForecast(
  forecast: Forecast,
  assumptions: readonly string[],
  look: Look,
): string {
  const { differences, examples } = forecast
  const parts = [
    tellWhat(forecast),
    showSides(forecast, look),
    ...(differences.length === 0 ? [] : [showColumns(causeColumns, differences, look)]),
    `Assumed:\n${assumptions.map(showItem).join('')}`,
    ...(examples.length === 0
      ? []
      : [`Examples, as they would have gone:\n${showColumns(changeColumns, examples, look)}`]),
  ]
  return parts.join('\n')
}

function tellWhat(forecast: Forecast): string {
  const { knobs, records, tasks, tasksChanged, firstAt, lastAt } = forecast
  if (firstAt === undefined || lastAt === undefined) return 'The log has no records.\n'
  const what = `${countOf(records, 'record')} from ${showTime(firstAt)} to ${showTime(lastAt)}, replayed with ${showKnobs(knobs)}.`
  const changed = `${showCount(tasksChanged)} of ${countOf(tasks, 'task')} would have gone differently.`
  return `${wrap(`${what} ${changed}`, 0).join('\n')}\n`
}

function showItem(text: string): string {
  const [first = '', ...rest] = wrap(text, 2)
  return [`- ${first.slice(2)}`, ...rest, ''].join('\n')
}
