/**
 * The seam to the log. `@tenure/wal` satisfies it structurally, and so can any log that keeps these
 * guarantees: callers must not assume files.
 */
export interface CommitLog {
  /** The LSN that the next record gets. */
  readonly nextLsn: number

  /** Every record up to this one is durable. */
  readonly durableLsn: number

  /**
   * Resolves to the LSN of the last durable record once the record is durable. Must reject a `firstLsn`
   * other than `nextLsn`. Must fail without any change when another writer has taken over the log. Records of
   * one batch may share a promise.
   */
  append(firstLsn: number, record: Uint8Array, claim: Claim): Promise<number>

  /** Reserves space for a record, or throws `WAL_NO_SPACE`; low urgency fails first. */
  claim(bytes: number, urgency: 'low' | 'normal' | 'high'): Claim

  /**
   * For a log that another coordinator can take over: resolves when an entry that was sent after this
   * call is stored, which proves that no other coordinator has decided anything before. Absent where the
   * log has one writer.
   */
  confirm?(): Promise<unknown>

  /** Resolves when all appended records are durable and the log is released. */
  close(): Promise<void>
}

/** Space reserved in the log. */
export interface Claim {
  readonly bytes: number
  release(): void
}
