import { printable } from '@tenure/app-kit'
import { type Display, paint, type Style } from './display.js'
import { cutTo, printableLines, widthOf } from './text.js'

const gap = 2
const narrowest = 8

/** A text, optionally with a style. */
export type Cell = string | { readonly text: string; readonly style: Style | undefined }

interface Layout {
  readonly display: Display
  /** Right-aligned columns. */
  readonly right?: readonly number[]
  /** Columns that are cut when a row is too wide. Without one, rows are never cut. */
  readonly cut?: readonly number[]
}

const unstyled: Layout = { display: { columns: Number.POSITIVE_INFINITY, colours: false } }

/**
 * Columns of text, each as wide as its widest entry. Only entries of the last column may have several
 * lines. Characters that control a terminal are escaped.
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

/** Cuts the widest of the columns that may be cut, until the row fits. */
function fit(widths: readonly number[], { display, cut = [] }: Layout): number[] {
  const fitted = [...widths]
  let excess = fitted.reduce((sum, width) => sum + width + gap, -gap) - display.columns
  while (excess > 0) {
    const [widest] = [...cut].sort((a, b) => (fitted[b] ?? 0) - (fitted[a] ?? 0))
    if (widest === undefined || (fitted[widest] ?? 0) <= narrowest) break
    fitted[widest] = (fitted[widest] ?? 0) - 1
    excess--
  }
  return fitted
}

function showRow(row: readonly Lines[], widths: readonly number[], layout: Layout): string {
  const { display, right = [], cut = [] } = layout
  const height = Math.max(1, ...row.map(({ lines }) => lines.length))
  const lines = Array.from({ length: height }, (_, line) => {
    const cells = row.map(({ lines, style }, at) => {
      const width = widths[at] ?? 0
      const text = cut.includes(at) ? cutTo(width, lines[line] ?? '') : (lines[line] ?? '')
      const rest = ' '.repeat(Math.max(0, width - widthOf(text)))
      const painted = paint(display, style, text)
      return right.includes(at) ? rest + painted : painted + rest
    })
    return `${cells.join(' '.repeat(gap)).trimEnd()}\n`
  })
  return lines.join('')
}

export interface Column<T> {
  readonly head: string
  readonly of: (item: T) => Cell
  /** Right-aligned. */
  readonly right?: boolean
  /** Cut when a row is too wide. */
  readonly cut?: boolean
}

/** A table with one line for each item. */
export function showColumns<T>(
  columns: readonly Column<T>[],
  items: readonly T[],
  display: Display,
  { heads = true } = {},
): string {
  const head = columns.map(({ head }) => ({ text: head, style: 'head' as const }))
  const rows = items.map((item) => columns.map(({ of }) => of(item)))
  const text = showTable([head, ...rows], {
    display,
    right: indexesOf(columns, ({ right }) => right),
    cut: indexesOf(columns, ({ cut }) => cut),
  })
  // The heads count for the widths even if hidden: this page continues an earlier one.
  return heads ? text : text.slice(text.indexOf('\n') + 1)
}

function indexesOf<T>(columns: readonly T[], is: (column: T) => boolean | undefined): number[] {
  return columns.flatMap((column, at) => (is(column) ? [at] : []))
}

/** Names and values; unknown values are left out. */
export type Facts = readonly (readonly [name: string, value: Cell | undefined])[]

export function showFacts(facts: Facts, display: Display): string {
  const known = facts.flatMap(([name, value]): Cell[][] => {
    return value === undefined ? [] : [[{ text: name, style: 'head' }, value]]
  })
  return showTable(known, { display })
}
