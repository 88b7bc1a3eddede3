import { exitCodes as common, type Kind, type Setting } from '@tenure/app-kit'

/** What scripts can rely on; the README says what each means. */
export const exitCodes = { ...common, timeIsOver: 3 } as const

/** A setting of this one call: no variable of a shell may have a say in it. */
export function flag<T, const R extends Omit<Setting<T>, 'kind' | 'sources'>>(
  kind: Kind<T>,
  rest: R,
) {
  return { kind, sources: ['flag'], ...rest } as const
}
