const charactersMax = 200

/** Bytes for people: as text where they are text, and not all of them where they are many. */
export function showBytes(bytes: Uint8Array): string {
  const text = asText(bytes)
  if (text === undefined) return `${bytes.length} bytes, no text`
  if (text.length <= charactersMax) return text
  return `${text.slice(0, charactersMax)}… (${bytes.length} bytes; --json shows all)`
}

/** `undefined` where they are something else, or would do something to a terminal. */
function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf8', { fatal: true }).decode(bytes).trimEnd()
    return /^[^\p{Cc}]*$/u.test(text.replaceAll(/[\n\t]/g, '')) ? text : undefined
  } catch {
    return undefined
  }
}
