import fc from 'fast-check'

/**
 * Any character except a lone surrogate. fast-check's own `unit` would first map all of Unicode, which takes
 * a second.
 */
export const character = fc
  .integer({ min: 0, max: 0x10_ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map(
    (code) => String.fromCodePoint(code),
    (text) => String(text).codePointAt(0)!,
  )
