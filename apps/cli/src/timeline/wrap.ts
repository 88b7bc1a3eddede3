import { widthOf } from './text-width.js'

/** Lines no wider than that, broken between words. */
export function wrap(text: string, fontSize: number, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`
    if (lines.length > 0 && widthOf(longer, fontSize) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
