/** A mistake that somebody could make, as changes to the compiled code. */
export interface Bug {
  readonly name: string
  /** What would go wrong with it. */
  readonly what: string
  readonly edits: readonly Edit[]
  /** It has to be found among so many seeds. */
  readonly seedsMax: number
}

/** A text that stands in the file exactly once, and what takes its place. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  readonly old: string
  readonly new: string
}
