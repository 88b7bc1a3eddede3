/**
 * Decides which entry is next. Knows no records, epochs or leaders. An engine that replicates provides
 * it, and its users rely on four promises:
 *
 * - An entry is stored at place s + 1 only if the last one is at s.
 * - A stored entry stays, at its place, until `truncate` removes it.
 * - What `follow` yields is decided: no failure of the engine replaces it.
 * - `range` is asked of the engine's current leader: it is never older than the call.
 *
 * Places are whole numbers from 1 on, without gaps.
 */
export interface SharedLog {
  /** Which entries the log has. Rejects if the engine cannot be reached, or has no leader. */
  range(): Promise<LogRange>

  /**
   * The entries after a place, in order, and each new one as it is stored. May stall as long as the
   * engine cannot be reached, but never skips one. Ends when the signal is aborted. Rejects with
   * `LOG_TRUNCATED` if the next entry was removed.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<StoredEntry>

  /**
   * Stores an entry directly after `after`. Resolves only when the outcome is known, however long that
   * takes: without an answer it looks at the place, and sends the same bytes again if there is nothing.
   * `isMine` recognizes an entry whose answer was lost. Rejects only after `close`.
   */
  append(
    after: number,
    entry: Uint8Array,
    isMine: (found: Uint8Array) => boolean,
  ): Promise<AppendOutcome>

  /** Removes the entries up to and including a place. The last entry always stays. */
  truncate(through: number): Promise<void>

  readonly checkpoints: SharedCheckpoints

  /** Ends all calls. */
  close(): Promise<void>
}

export interface LogRange {
  /** The first and the last entry. Both are 0 if there is none yet. */
  readonly first: number
  readonly last: number
  /** The bytes that the log takes, and the most that it may. */
  readonly bytes: number
  readonly bytesMax: number
}

export interface StoredEntry {
  readonly seq: number
  readonly bytes: Uint8Array
}

/**
 * - `stored`: the entry is there.
 * - `overtaken`: another entry is at its place.
 * - `full`: the engine refuses it for lack of space. It is not stored, and will not be.
 */
export type AppendOutcome = 'stored' | 'overtaken' | 'full'

/** Large values beside the log, each under an LSN. */
export interface SharedCheckpoints {
  /** The LSNs of the complete ones, newest first. */
  list(): Promise<number[]>
  /** The chunks, in order. Rejects if there is none, or if it is not complete. */
  read(lsn: number): AsyncIterable<Uint8Array>
  /** Replaces one of the same LSN. It is listed only after all chunks are stored. */
  write(lsn: number, chunks: AsyncIterable<Uint8Array>): Promise<void>
  remove(lsn: number): Promise<void>
}
