/** Checks for values of records and encoded states. */

/** Whether the value is an integer in these bounds. Rejects -0, which codecs cannot tell from 0. */
export function isWholeOf(value: unknown, min: number, max: number): value is number {
  return (
    Number.isInteger(value) &&
    (value as number) >= min &&
    (value as number) <= max &&
    !Object.is(value, -0)
  )
}

/** Whether the value is well-formed text of `min` to `max` bytes of UTF-8. */
export function isTextOf(value: unknown, min: number, max: number): value is string {
  if (typeof value !== 'string' || value.length < min || value.length > max) return false
  // A unit takes at most three bytes, so a short text need not be measured.
  if (value.length * 3 > max && Buffer.byteLength(value) > max) return false
  return value.isWellFormed()
}
