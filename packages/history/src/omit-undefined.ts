/** The fields of `T`. Optional ones may also be undefined. */
type Fields<T> = { [Name in keyof T]: object extends Pick<T, Name> ? T[Name] | undefined : T[Name] }

/**
 * Omits undefined fields, so that unknown values are absent for `in` and in JSON. The compiler
 * rejects fields that `T` does not have, unlike in a literal that is spread into another one.
 */
export function omitUndefined<T extends object>(fields: NoInfer<Fields<T>>): T {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(known) as T
}
