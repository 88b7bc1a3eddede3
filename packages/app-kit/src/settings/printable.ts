/**
 * Characters that control a terminal: control characters, and those that change the direction of text.
 * Names and reasons come from other users and must not manipulate this terminal.
 */
export const controlCharacters =
  /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Escapes these characters as JSON does, which also makes the text one line. */
export function printable(text: string): string {
  return text.replace(controlCharacters, toEscape)
}

export function toEscape(character: string): string {
  const [, short] = /^"(\\[a-z])"$/.exec(JSON.stringify(character)) ?? []
  return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
