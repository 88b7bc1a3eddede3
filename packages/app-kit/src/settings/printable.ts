/**
 * Everything a terminal would obey instead of showing: control characters, and those that turn the
 * direction of a line. Names and reasons are written by others, and none of them may act here.
 */
export const terminalCommands = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** In one line, as JSON would write it. */
export function printable(text: string): string {
  return text.replace(terminalCommands, toEscape)
}

export function toEscape(character: string): string {
  const [, short] = /^"(\\[a-z])"$/.exec(JSON.stringify(character)) ?? []
  return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
