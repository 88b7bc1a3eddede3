import { printable } from '@tenure/app-kit'
import { printableLines } from '../show/printable.js'
import { type Look, paint, type Style } from './look.js'
import { cutTo, widthOf } from './text.js'

const gap = 2
const narrowest = 8

/** Text, and what it is for the eye. */
export type Cell = string | { readonly text: string; readonly style: Style | undefined }

interface Layout {
  readonly look: Look
  /** Columns whose entries are numbers. */
  readonly right?: readonly number[]
  /** Columns that give way when a row is too long; without one, rows are as long as they are. */
  readonly cut?: readonly number[]
}

const unstyled: Layout = { look: { columns: Number.POSITIVE_INFINITY, colours: false } }

/**
 * Columns of text, each as wide as its widest entry. The last one is left as wide as it is, and may
 * have several lines. Nothing in it does anything to a terminal.
 */
export function showTable(rows: readonly (readonly Cell[])[], layout = unstyled): string {
  const shown = rows.map((row) => row.map(linesOf))
  const widths = fit(widthsOf(shown), layout)
  return shown.map((row) => showRow(row, widths, layout)).join('')
}

interface Lines {
  readonly lines: readonly string[]
  readonly style: Style | undefined
}

function linesOf(cell: Cell, at: number, row: readonly Cell[]): Lines {
  const { text, style } = typeof cell === 'string' ? { text: cell, style: undefined } : cell
  return { lines: at === row.length - 1 ? printableLines(text) : [printable(text)], style }
}

function widthsOf(rows: readonly (readonly Lines[])[]): number[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, { lines }] of row.entries()) {
      widths[at] = Math.max(widths[at] ?? 0, ...lines.map(widthOf))
    }
  }
  return widths
}

/** The widest of those that may give way gives way first. */
function fit(widths: readonly number[], { look, cut = [] }: Layout): number[] {
  const fitted = [...widths]
  let excess = fitted.reduce((sum, width) => sum + width + gap, -gap) - look.columns
  while (excess > 0) {
    const [widest] = [...cut].sort((a, b) => (fitted[b] ?? 0) - (fitted[a] ?? 0))
    if (widest === undefined || (fitted[widest] ?? 0) <= narrowest) break
    fitted[widest] = (fitted[widest] ?? 0) - 1
    excess--
  }
  return fitted
}

function showRow(row: readonly Lines[], widths: readonly number[], layout: Layout): string {
  const { look, right = [], cut = [] } = layout
  const height = Math.max(1, ...row.map(({ lines }) => lines.length))
  const lines = Array.from({ length: height }, (_, line) => {
    const cells = row.map(({ lines, style }, at) => {
      const width = widths[at] ?? 0
      const text = cut.includes(at) ? cutTo(width, lines[line] ?? '') : (lines[line] ?? '')
      const rest = ' '.repeat(Math.max(0, width - widthOf(text)))
      const painted = paint(look, style, text)
      return right.includes(at) ? rest + painted : painted + rest
    })
    return `${cells.join(' '.repeat(gap)).trimEnd()}\n`
  })
  return lines.join('')
}
