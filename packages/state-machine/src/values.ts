/** Kinds of values that records and encoded states are held to. */

/** Whether it is a whole number in these bounds; -0, which no codec tells from 0, is none. */
export function isWholeOf(value: unknown, min: number, max: number): value is number {
  return (
    Number.isInteger(value) &&
    (value as number) >= min &&
    (value as number) <= max &&
    !Object.is(value, -0)
  )
}

/** Whether it is a text that UTF-8 can hold, in so many bytes. */
export function isTextOf(value: unknown, min: number, max: number): value is string {
  if (typeof value !== 'string' || value.length < min || value.length > max) return false
  // No text takes more than three bytes a unit, so a short one need not be measured.
  if (value.length * 3 > max && Buffer.byteLength(value) > max) return false
  return value.isWellFormed()
}
