import { apply, createState, encodeRecord, encodeState } from '@tenure/state-machine'
import type { Book } from './book.js'

export interface SourceOptions {
  /** States to keep, by LSN. */
  readonly checkpoints?: readonly number[]
  /** Removes what lies before. */
  readonly firstLsn?: number
  /** How many records come at once. */
  readonly runLength?: number
}

/** The book as a reader of a log would give it, from memory. */
export function sourceOf(
  book: Book,
  { checkpoints = [], firstLsn = 1, runLength = 7 }: SourceOptions = {},
) {
  return {
    firstLsn,
    checkpoints: [...checkpoints].sort((a, b) => b - a),
    gaps: [],
    openings: book.openings.filter((opening) => opening.firstLsn >= firstLsn),
    async *replay({ fromLsn }: { readonly fromLsn: number }) {
      const left = book.entries.slice(Math.max(fromLsn, firstLsn) - 1)
      for (let from = 0; from < left.length; from += runLength) {
        const run = left.slice(from, from + runLength)
        yield {
          firstLsn: run[0]!.lsn,
          records: run.map(({ record }) => encodeRecord(record)),
        }
      }
    },
    async *readCheckpoint(lsn: number) {
      const state = createState()
      for (const entry of book.entries.slice(0, lsn)) apply(state, entry.lsn, entry.record)
      yield* encodeState(state)
    },
  }
}
