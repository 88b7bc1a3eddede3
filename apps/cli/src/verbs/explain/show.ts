import type { ExplainedEvent, Explanation } from '@tenure/history'
import type { Display, Style } from '../../terminal/display.js'
import { showDuration, showTime } from '../../terminal/format.js'
import { type Cell, showTable } from '../../terminal/table.js'
import { widthOf, wrap } from '../../terminal/text.js'

const indent = '  '
/** Minimum width of the text column. */
const textColumnsMin = 30

/** The summary, then every event with its LSN, its time and the time since the previous event. */
export function showExplanation({ summary, events }: Explanation, display: Display): string {
  const facts = events.map((event, index) => factsOf(event, events[index - 1]))
  const heads = ['LSN', 'time', '', 'attempt']
  const used = heads.map((head, at) =>
    Math.max(widthOf(head), ...facts.map((row) => widthOf(row[at]!))),
  )
  const left = display.columns - used.reduce((sum, width) => sum + width + gap, 0)
  const columns = Math.max(textColumnsMin, left)
  const rows: Cell[][] = events.map((event, index) => [...facts[index]!, textOf(event, columns)])
  const table = showTable([[...heads, ''].map(head), ...rows], { display, right: [0, 2] })
  return `${wrap(summary, display.columns).join('\n')}\n\n${table}`
}

const gap = 2

function head(text: string): Cell {
  return { text, style: 'head' }
}

function factsOf({ lsn, at, attempt }: ExplainedEvent, before: ExplainedEvent | undefined) {
  return [
    lsn === undefined ? '' : String(lsn),
    showTime(at),
    before === undefined ? '' : `+${showDuration(at - before.at)}`,
    attempt === undefined ? '' : String(attempt),
  ]
}

function textOf(
  { what, why, notes = [], kind, remembered }: ExplainedEvent,
  columns: number,
): Cell {
  const head = remembered ? `${what} (remembered)` : what
  const below = [...(why === undefined ? [] : [why]), ...notes]
  const lines = [wrap(head, columns), ...below.map((note) => wrap(note, columns, indent))]
  return { text: lines.flat().join('\n'), style: styles[kind] }
}

const styles: { readonly [K in ExplainedEvent['kind']]?: Style } = {
  HEARTBEATS: 'quiet',
  COORDINATOR_STARTED: 'busy',
  EXPIRED: 'bad',
  COMPLETED: 'good',
  FAILED: 'bad',
  CANCELLED: 'bad',
  DEAD: 'bad',
}
