/**
 * The seam to the log. `@tenure/wal` fits it by its shape, and so can any log that keeps its
 * promises: nothing behind it may assume files.
 */
export interface CommitLog {
  /** The LSN that the next record gets. */
  readonly nextLsn: number

  /** Every record up to this one is durable. */
  readonly durableLsn: number

  /**
   * Settles with the LSN of the last durable record, when the record is durable. Must refuse a
   * `firstLsn` that is not `nextLsn`, and must fail, changing nothing, when another writer has taken
   * the log over. All records of one batch may share one promise.
   */
  append(firstLsn: number, record: Uint8Array, claim: Room): Promise<number>

  /** Sets room aside for a record. Throws an error with the code `WAL_NO_SPACE`, the less urgent first. */
  claim(bytes: number, urgency: 'low' | 'normal' | 'high'): Room

  /** Settles when everything appended is durable and the log is given back. */
  close(): Promise<void>
}

/** Room set aside in the log. */
export interface Room {
  readonly bytes: number
  release(): void
}
