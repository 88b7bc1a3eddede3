import type { HistoryFound, HistoryPlace } from '@tenure/protocol'

/** What is asked of the log: one page of the history of one task. */
export interface HistoryQuery extends HistoryPlace {
  readonly taskId: number
  /** Leases that the task is known to have had: a LeaseExtended names nothing else. */
  readonly leaseIds: readonly number[]
  /** The last record that was durable when the page was asked for: there the history ends. */
  readonly throughLsn: number
  /** How much is found in one page, the first record apart. */
  readonly bytesMax: number
}

export type HistoryPage = Omit<HistoryFound, 'kind' | 'id'>

/**
 * Reads the log beside the loop. It is asked for one page at a time, must take none of the loop's
 * time for it, and must reject when the signal aborts.
 */
export interface HistoryReader {
  read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage>
}
