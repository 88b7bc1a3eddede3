import { printable, printableLines } from './printable.js'

const gap = '  '

/**
 * Columns of text, each as wide as its widest entry. The last one is left as wide as it is, and may
 * have several lines. Nothing in it does anything to a terminal.
 */
export function showTable(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => ({
    first: row.slice(0, -1).map(printable),
    last: printableLines(row.at(-1) ?? ''),
  }))
  const widths: number[] = []
  for (const { first } of shown) {
    for (const [at, cell] of first.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  }
  const margin = widths.map((width) => ' '.repeat(width) + gap).join('')
  return shown
    .map(({ first, last }) => {
      const start = first.map((cell, at) => cell.padEnd(widths[at] ?? 0) + gap).join('')
      return last.map((line, at) => `${(at === 0 ? start : margin) + line}`.trimEnd()).join('\n')
    })
    .map((text) => `${text}\n`)
    .join('')
}
