/** The fields of `T`; one that may be absent may be undefined, too. */
type Fields<T> = { [Name in keyof T]: object extends Pick<T, Name> ? T[Name] | undefined : T[Name] }

/**
 * The fields that are defined, in their order: what is not known is absent, for `in` and in JSON. The compiler refuses a
 * field that `T` does not have, which it does not do for a literal that is spread into another one.
 */
export function omitUndefined<T extends object>(fields: NoInfer<Fields<T>>): T {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known) as T
}
