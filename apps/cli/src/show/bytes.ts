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
