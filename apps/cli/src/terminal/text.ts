import { printable } from '@tenure/app-kit'
import measure from 'fast-string-truncated-width'

/** Each line of it, as it can be shown. */
export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map(printable)
}

const ellipsis = '…'

/** How many columns of a terminal it takes: a Chinese character two, a combining accent none. */
export function widthOf(text: string): number {
  return measure(text).width
}

/** As much of it as so many columns hold, with an ellipsis where something is missing. */
export function cutTo(columns: number, text: string): string {
  const { index, truncated } = measure(text, { limit: columns, ellipsis })
  return truncated ? text.slice(0, index) + ellipsis : text
}

/** In lines of so many columns, broken between words; a word that is longer has a line of its own. */
export function wrap(text: string, columns: number, indent = ''): string[] {
  return printableLines(text).flatMap((line) => {
    const lines: string[] = []
    let own = indent
    for (const word of line.split(' ')) {
      const longer = own === indent ? own + word : `${own} ${word}`
      if (own !== indent && widthOf(longer) > columns) {
        lines.push(own)
        own = indent + word
      } else own = longer
    }
    return [...lines, own]
  })
}

const charactersMax = 200

/** Bytes for people: as text where they are text, and not all of them where they are many. */
export function showBytes(bytes: Uint8Array): string {
  const text = asText(bytes)
  if (text === undefined) return `${bytes.length} bytes, no text`
  if (text.length <= charactersMax) return text
  // A character that is cut in half would be none.
  const start = text.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')
  return `${start}… (${bytes.length} bytes; --json shows all)`
}

/** `undefined` where they are something else. */
function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf8', { fatal: true }).decode(bytes).trimEnd()
    return /^[^\p{Cc}]*$/u.test(text.replaceAll(/[\r\n\t]/g, '')) ? text : undefined
  } catch {
    return undefined
  }
}
