import { printable } from '@tenure/app-kit'
import measure from 'fast-string-truncated-width'

export function printableLines(text: string): string[] {
  return text.split(/\r?\n/).map(printable)
}

const ellipsis = '…'

/** The columns that a text takes on a terminal: a Chinese character two, a combining accent none. */
export function widthOf(text: string): number {
  return measure(text).width
}

/** Cuts a text to this many columns, with an ellipsis at the end. */
export function cutTo(columns: number, text: string): string {
  const { index, truncated } = measure(text, { limit: columns, ellipsis })
  return truncated ? text.slice(0, index) + ellipsis : text
}

/** Breaks a text between words into lines of at most this many columns. A longer word gets its own line. */
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

/** Shows bytes as text if they are text, and cuts long ones. */
export function showBytes(bytes: Uint8Array): string {
  const text = asText(bytes)
  if (text === undefined) return `${bytes.length} bytes of binary data`
  if (text.length <= charactersMax) return text
  // Keep surrogate pairs together.
  const start = text.slice(0, charactersMax).replace(/[\ud800-\udbff]$/, '')
  return `${start}… (${bytes.length} bytes; --json shows all)`
}

/** `undefined` if the bytes are not printable text. */
function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf8', { fatal: true }).decode(bytes).trimEnd()
    return /^[^\p{Cc}]*$/u.test(text.replaceAll(/[\r\n\t]/g, '')) ? text : undefined
  } catch {
    return undefined
  }
}
