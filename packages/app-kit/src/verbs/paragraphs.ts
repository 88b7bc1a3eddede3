const width = 100

/** What stands below the line it belongs to. */
export const indent = 6

export function section(title: string, entries: readonly (readonly string[])[]): string[] {
  return entries.length === 0 ? [] : [`${title}:`, ...entries.flat(), '']
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
export function hang(head: string, text: string, margin: number): string[] {
  const [first = '', ...rest] = wrap(text, margin)
  return [head.padEnd(margin) + first.slice(margin), ...rest]
}

export function firstSentenceOf(text: string): string {
  return /^.*?[.](?= |$)/s.exec(text)?.[0] ?? text
}
