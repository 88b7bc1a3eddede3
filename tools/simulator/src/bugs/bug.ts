import type { Check, VagueCheck } from '../violation.js'

/** A change to the compiled code, made in a copy of it. */
export interface Change {
  readonly name: string
  readonly edits: readonly Edit[]
}

/** A mistake that a programmer could make. */
export interface Bug extends Change {
  /** The wrong behaviour that it causes. */
  readonly what: string
  /** The checks that count as finding it; other failures do not count. */
  readonly foundBy: readonly [Sign, ...Sign[]]
  /** Maximum number of seeds within which it has to be found. */
  readonly seedsMax: number
  /** The kind of log on which it shows. By default a coordinator's own. */
  readonly log?: 'own' | 'shared'
}

/** A failing check. If many mistakes can fail the check, also its message. */
export type Sign =
  | { readonly check: Exclude<Check, VagueCheck>; readonly message?: RegExp }
  | { readonly check: VagueCheck; readonly message: RegExp }

/** Replaces a text that occurs exactly once in the file. */
export interface Edit {
  /** Relative to the root of the repository. */
  readonly file: string
  readonly old: string
  readonly new: string
}
