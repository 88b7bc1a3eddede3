import type { Check, VagueCheck } from '../violation.js'

/** A change to the compiled code, to be made in a copy of it. */
export interface Change {
  readonly name: string
  readonly edits: readonly Edit[]
}

/** A mistake that somebody could make. */
export interface Bug extends Change {
  /** What would go wrong with it. */
  readonly what: string
  /** What it is found by; whatever else goes wrong with it does not count. */
  readonly foundBy: readonly [Sign, ...Sign[]]
  /** It has to be found among so many seeds. */
  readonly seedsMax: number
}

/** A check that fails; of one that many a mistake can fail, also what it says then. */
export type Sign =
  | { readonly check: Exclude<Check, VagueCheck>; readonly message?: RegExp }
  | { readonly check: VagueCheck; readonly message: RegExp }

/** A text that stands in the file exactly once, and what takes its place. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  readonly old: string
  readonly new: string
}
