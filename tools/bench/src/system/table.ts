import { drawTable, groupBy } from '@tenure/harness'
import type { Footprint } from './figure.js'
import type { Summary } from './summary.js'
import type { Verdict } from './targets.js'

/** One table for each kind of work, with all systems, as text that fits 100 columns. */
export function drawTables(all: readonly (Summary | Footprint)[]): string {
  return [...groupBy(all, titleOf)]
    .map(
      ([title, group]) =>
        `${title}\n${drawTable(group.map(rowOf), { align: 'lrll', indent: '  ' })}`,
    )
    .join('\n\n')
}

function titleOf(figure: Summary | Footprint): string {
  const { work, liveTasks } = figure
  const beside = liveTasks === 0 ? '' : `, ${count(liveTasks)} waiting tasks`
  if (!isSummary(figure)) return `size of a waiting task${beside}`
  const { connections, inFlight, load } = figure
  const shape = `${connections} x ${inFlight}`
  return load === undefined
    ? `${work}, ${shape}${beside}`
    : `${work}, at ${load} of the highest rate`
}

function rowOf(figure: Summary | Footprint): string[] {
  const { system, durability } = figure
  if (!isSummary(figure)) {
    const { memoryBytesPerTask: memory, diskBytesPerTask: disk } = figure
    return [system, durability, `${count(memory)} bytes of memory, ${count(disk)} on the disk`]
  }
  const { opsPerSecond, least, most, p50Ms, p99Ms } = figure
  const range = `${count(opsPerSecond)}/s (${count(least)} to ${count(most)})`
  return [system, durability, range, ms(p50Ms), ms(p99Ms)]
}

function isSummary(figure: Summary | Footprint): figure is Summary {
  return figure.work !== 'hold'
}

export function drawVerdicts(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ name, value, unit, target, aim, holds }) => [
    name,
    `${value.toFixed(2)}${unit}`,
    `target ${target}${unit}, aim ${aim}${unit}`,
    holds ? 'holds' : 'MISSED',
  ])
  return `targets\n${drawTable(rows, { align: 'lrll', indent: '  ' })}`
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function ms(value: number): string {
  return Number.isNaN(value) ? '' : `${value.toFixed(2)} ms`
}
