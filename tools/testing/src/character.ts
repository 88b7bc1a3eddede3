import fc from 'fast-check'

/** Any character but half of a pair. Of its own unit for that fast-check maps all of Unicode first, for a second. */
export const character = fc
  .integer({ min: 0, max: 0x10_ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map(
    (code) => String.fromCodePoint(code),
    (text) => String(text).codePointAt(0)!,
  )
