import type { Kind, Setting } from '@tenure/app-kit'

/** A setting of this one call: no variable of a shell may have a say in it. */
export function flag<T, const R extends Omit<Setting<T>, 'kind' | 'sources'>>(
  kind: Kind<T>,
  rest: R,
) {
  return { kind, sources: ['flag'], ...rest } as const
}
