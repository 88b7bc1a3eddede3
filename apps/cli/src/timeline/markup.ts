import { printable } from '@tenure/app-kit'

/** Text that is SVG or HTML already. All other text is written by others, and is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = string | number | Markup | undefined | readonly Content[]

/** A piece of SVG or HTML. What is put into it is escaped unless it is markup itself. */
export function markup(strings: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  const parts = strings.map(
    (string, at) => string + (at < contents.length ? show(contents[at]) : ''),
  )
  return new Markup(parts.join(''))
}

/** Lines of a tooltip. */
export function lines(...texts: readonly (string | undefined)[]): Markup {
  return new Markup(
    texts
      .filter((text) => text !== undefined)
      .map(escapeText)
      .join('\n'),
  )
}

function show(content: Content): string {
  if (content === undefined) return ''
  if (content instanceof Markup) return content.text
  if (typeof content === 'number') return String(Math.round(content * 100) / 100)
  return typeof content === 'string' ? escapeText(content) : content.map(show).join('')
}

function escapeText(text: string): string {
  return printable(text)
    .replace(noXml, '\ufffd')
    .replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Halves of characters, and two that XML does not know. */
const noXml =
  /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g

/** How wide a text is at most, in a font of that size. No font is at hand to be asked. */
export function widthOf(text: string, fontSize: number): number {
  let em = 0
  for (const character of text) em += emOf(character)
  return em * fontSize
}

/** As much of it as fits, with … where some is missing; nothing if not even that fits. */
export function fit(text: string, fontSize: number, width: number): string {
  if (widthOf(text, fontSize) <= width) return text
  let left = width / fontSize - emOf('…')
  let kept = ''
  for (const { segment } of graphemes.segment(text)) {
    for (const character of segment) left -= emOf(character)
    if (left < 0) break
    kept += segment
  }
  return kept === '' ? '' : `${kept}…`
}

/** What a reader takes for one character is not cut in two. */
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Those of DejaVu Sans, which is wider than most. */
function emOf(character: string): number {
  if (character > '\u02ff') return 1.25
  if (/[MW@%mw—…]/.test(character)) return 1.02
  if (/[A-Z<>=+~#&]/.test(character)) return 0.85
  return /[ iIjlftr.,:;'|!()/-]/.test(character) ? 0.42 : 0.66
}

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
