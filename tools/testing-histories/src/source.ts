import { apply, createState, encodeRecord, encodeState } from '@tenure/state-machine'
import type { Book } from './book.js'

export interface SourceOptions {
  /** LSNs of the checkpoints to provide. */
  readonly checkpoints?: readonly number[]
  /** The first LSN; earlier records are removed. */
  readonly firstLsn?: number
  /** Number of records per run. */
  readonly runLength?: number
}

/** The book as the reader of a log would return it, from memory. */
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
