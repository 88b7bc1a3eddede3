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
