import type { Footprint } from './figure.js'
import { groupBy } from './group-by.js'
import type { Summary } from './summary.js'
import type { Verdict } from './targets.js'

/** Each work with all systems below each other, as text that fits 100 columns. */
export function drawTable(all: readonly (Summary | Footprint)[]): string {
  const groups = groupBy(all, titleOf)
  return [...groups]
    .map(([title, group]) => [title, ...group.map(drawLine)].join('\n'))
    .join('\n\n')
}

function titleOf(figure: Summary | Footprint): string {
  const { work, liveTasks } = figure
  const beside = liveTasks === 0 ? '' : `, ${count(liveTasks)} tasks`
  if (!isSummary(figure)) return `what a waiting task takes${beside}`
  const { connections, inFlight, load } = figure
  const shape = `${connections} x ${inFlight}`
  return load === undefined ? `${work}, ${shape}${beside}` : `${work}, at ${load} of the most`
}

function drawLine(figure: Summary | Footprint): string {
  const name = `  ${figure.system.padEnd(22)}${figure.durability.padEnd(20)}`
  if (!isSummary(figure)) {
    const { memoryBytesPerTask: memory, diskBytesPerTask: disk } = figure
    return `${name}${count(memory)} bytes of memory, ${count(disk)} on the disk`
  }
  const { opsPerSecond, least, most, p50Ms, p99Ms } = figure
  const range = `${count(opsPerSecond)}/s (${count(least)} to ${count(most)})`
  return `${name}${range.padEnd(36)}${ms(p50Ms)}${ms(p99Ms)}`
}

function isSummary(figure: Summary | Footprint): figure is Summary {
  return figure.work !== 'hold'
}

export function drawVerdicts(verdicts: readonly Verdict[]): string {
  const lines = verdicts.map(({ name, value, unit, target, aim, holds }) => {
    const found = `${value.toFixed(2)}${unit}`.padStart(12)
    const goal = `target ${target}${unit}, aim ${aim}${unit}`
    return `  ${name.padEnd(56)}${found}  ${goal.padEnd(26)}${holds ? 'holds' : 'MISSED'}`
  })
  return ['what it was to show', ...lines].join('\n')
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function ms(value: number): string {
  return Number.isNaN(value) ? ' '.repeat(10) : `${value.toFixed(2)} ms`.padStart(10)
}
