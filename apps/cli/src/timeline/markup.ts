import { printable } from '@tenure/app-kit'

/** A text that is SVG or HTML. Any other text is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = string | number | Markup | undefined | readonly Content[]

/** A piece of SVG or HTML. Inserted contents are escaped unless they are `Markup`. */
export function markup(strings: TemplateStringsArray, ...contents: readonly Content[]): Markup {
  const parts = strings.map(
    (string, at) => string + (at < contents.length ? show(contents[at]) : ''),
  )
  return new Markup(parts.join(''))
}

/** The lines of a tooltip. */
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

/** Lone surrogates, and two characters that XML forbids. */
const noXml =
  /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g

/** An upper estimate of the width of a text; no font is available to measure it. */
export function widthOf(text: string, fontSize: number): number {
  let em = 0
  for (const character of text) em += emOf(character)
  return em * fontSize
}

/** Cuts a text to a width, with … at the end; empty if not even one character fits. */
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

/** Graphemes are not cut. */
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Widths of DejaVu Sans, which is wider than most fonts. */
function emOf(character: string): number {
  if (character > '\u02ff') return 1.25
  if (/[MW@%mw—…]/.test(character)) return 1.02
  if (/[A-Z<>=+~#&]/.test(character)) return 0.85
  return /[ iIjlftr.,:;'|!()/-]/.test(character) ? 0.42 : 0.66
}

/** Breaks a text between words into lines of at most this width. */
export function wrap(text: string, fontSize: number, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const longer = lines.length === 0 ? word : `${lines.at(-1)} ${word}`
    if (lines.length > 0 && widthOf(longer, fontSize) <= width) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
