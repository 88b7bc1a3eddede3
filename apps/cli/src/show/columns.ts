import type { Look } from '../terminal/look.js'
import { type Cell, showTable } from '../terminal/table.js'

/** One column of a list of things. */
export interface Column<T> {
  readonly head: string
  readonly of: (item: T) => Cell
  /** For numbers. */
  readonly right?: boolean
  /** It gives way when a row is too long. */
  readonly cut?: boolean
}

/** One line for each thing, below the heads of the columns. */
export function showColumns<T>(
  columns: readonly Column<T>[],
  items: readonly T[],
  look: Look,
  { heads = true } = {},
): string {
  const head = columns.map(({ head }) => ({ text: head, style: 'head' as const }))
  const rows = items.map((item) => columns.map(({ of }) => of(item)))
  const text = showTable([head, ...rows], {
    look,
    right: indexesOf(columns, ({ right }) => right),
    cut: indexesOf(columns, ({ cut }) => cut),
  })
  // Laid out with them in any case: what follows stands below what has been shown.
  return heads ? text : text.slice(text.indexOf('\n') + 1)
}

function indexesOf<T>(columns: readonly T[], is: (column: T) => boolean | undefined): number[] {
  return columns.flatMap((column, at) => (is(column) ? [at] : []))
}
