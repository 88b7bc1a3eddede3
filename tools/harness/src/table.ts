interface Look {
  /** Alignment of each column, `l` or `r`. Default: right. */
  readonly align?: string
  readonly indent?: string
}

/** Formats rows as aligned columns. */
export function drawTable(
  rows: readonly (readonly string[])[],
  { align = 'l', indent = '' }: Look = {},
): string {
  const widths: number[] = []
  for (const row of rows) {
    for (const [column, { length }] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, length)
    }
  }
  const pad = (cell: string, column: number) =>
    align[column] === 'l' ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)
  return rows.map((row) => `${indent}${row.map(pad).join('  ')}`.trimEnd()).join('\n')
}
