import { drawTable } from '@tenure/harness'
import type { CaseName, Result } from './result.js'

const how: { readonly [Name in CaseName]: string } = {
  apply: 'whole lives of tasks, decoded and applied to a state of constant size',
  scale: 'the same stream with 1,000 and with 1,000,000 live tasks; apply alone, without decoding',
  memory: 'resident memory after garbage collection, with the tasks minus without',
  gc: 'pauses reported by Node, and the longest delay of the event loop',
}

/** All results as text of at most 100 columns. */
export function drawReport(machine: string, results: readonly Result[], isQuick: boolean): string {
  const rows = results.map((result) => [
    result.case,
    result.variant,
    figureOf(result),
    result.spread === undefined ? '' : result.spread.map(show).join(' - '),
    wantedOf(result),
    result.isMet === undefined ? '' : result.isMet ? 'met' : 'MISSED',
  ])
  const explained = results.flatMap((result) => [
    `${result.case}, ${result.variant}`,
    ...wrap(
      Object.entries(result.details).map(([name, value]) => `${name} ${showAll(value)}`),
      96,
    ).map((line) => `  ${line}`),
  ])
  const explanations = Object.entries(how).map(([name, text]) => `${name.padEnd(6)}  ${text}`)
  const caution = isQuick ? '\nA quick run is only an indication.' : ''
  return [
    machine + caution,
    drawTable([['case', '', 'median', 'of the rounds', 'target', ''], ...rows], { align: 'll' }),
    explanations.join('\n'),
    explained.join('\n'),
  ].join('\n\n')
}

function figureOf(result: Result): string {
  const { recordsPerSecond, costRatio, bytesPerTask, longestPauseMs } = result
  if (recordsPerSecond !== undefined) return `${show(recordsPerSecond)} records/s`
  if (costRatio !== undefined) return `${show(costRatio)} times the cost`
  if (bytesPerTask !== undefined) return `${show(bytesPerTask)} bytes/task`
  return `${show(longestPauseMs ?? Number.NaN)} ms longest pause`
}

function wantedOf({ target }: Result): string {
  if (target === undefined) return ''
  return 'atLeast' in target ? `>= ${show(target.atLeast)}` : `<= ${show(target.atMost)}`
}

function showAll(value: Result['details'][string]): string {
  return Array.isArray(value) ? value.map(show).join(' / ') : show(value as number)
}

function show(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(value)
}

function wrap(items: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const item of items) {
    const longer = `${lines.at(-1)}, ${item}`
    if (lines.length > 0 && longer.length <= width) lines[lines.length - 1] = longer
    else lines.push(item)
  }
  return lines
}
