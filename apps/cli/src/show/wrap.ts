import { widthOf } from '../terminal/text.js'
import { printableLines } from './printable.js'

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
