import { exitCodes as common, type Kind, type Setting } from '@tenure/app-kit'

/** Stable exit codes for scripts; the README lists them. */
export const exitCodes = { ...common, timeout: 3 } as const

/** A setting that only a flag can set, never an environment variable. */
export function flag<T, const R extends Omit<Setting<T>, 'kind' | 'sources'>>(
  kind: Kind<T>,
  rest: R,
) {
  return { kind, sources: ['flag'], ...rest } as const
}
