const width = 100

const headWidthMax = 30

/** What something is called, and what it is. */
export type Row = readonly [head: string, text: string]

export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines, '']
}

/** The rows in two columns. A head that is too wide for its column has a line of its own. */
export function columns(rows: readonly Row[]): string[] {
  const margin = Math.min(headWidthMax, Math.max(...rows.map(([head]) => head.length))) + 4
  return rows.flatMap(([head, text]) =>
    head.length + 4 > margin
      ? [`  ${head}`, ...wrap(text, margin)]
      : hang(`  ${head}`, text, margin),
  )
}

export function wrap(text: string, margin: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && margin + line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].map((text) => ' '.repeat(margin) + text)
}

/** A text beside what it is about, and below itself where it is long. */
function hang(head: string, text: string, margin: number): string[] {
  const [first = '', ...rest] = wrap(text, margin)
  return [head.padEnd(margin) + first.slice(margin), ...rest]
}

export function firstSentenceOf(text: string): string {
  return /^.*?[.](?= |$)/s.exec(text)?.[0] ?? text
}
