/** Columns of text, each as wide as its widest entry; the last one is left as it is. */
export function showTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length)
  }
  return rows
    .map((row) => {
      const cells = row.map((cell, at) => cell.padEnd(widths[at] ?? 0))
      return `${cells.join('  ').trimEnd()}\n`
    })
    .join('')
}
