/** What was decoded is anything until a predicate has seen it. */
// biome-ignore lint/suspicious/noExplicitAny: that is what it is.
export type Unchecked = any

type Predicate = (value: unknown) => boolean

/** Whether the value is a list of exactly these kinds of values. */
export function matches(value: unknown, kinds: readonly Predicate[]): value is Unchecked[] {
  return (
    Array.isArray(value) &&
    value.length === kinds.length &&
    kinds.every((isOfKind, index) => isOfKind(value[index]))
  )
}

export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function isLsn(value: unknown): value is number {
  return isWhole(value) && value > 0
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

export function isList(value: unknown): value is unknown[] {
  return Array.isArray(value)
}

export function orNull(isOfKind: Predicate): Predicate {
  return (value) => value === null || isOfKind(value)
}
