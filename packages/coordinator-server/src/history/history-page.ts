import { TaskFilter } from '@tenure/history/internal'
import type { HistoryCursor, HistoryFound, HistoryRecord, Opening } from '@tenure/protocol'

import { decodeRecord, type LogRecord } from '@tenure/state-machine'
import { type LogReader, WalError } from '@tenure/wal'

/** A request for one page of a task's history. */
export interface HistoryQuery extends HistoryCursor {
  readonly taskId: number
  /** Known leases of the task; needed because a LeaseExtended names only its lease. */
  readonly leaseIds: readonly number[]
  /** The last durable record at the time of the request, where the history ends. */
  readonly throughLsn: number
  /** Maximum bytes of records in a page, except that the first record always fits. */
  readonly bytesMax: number
}

export type HistoryPage = Omit<HistoryFound, 'kind' | 'id'>

/**
 * Reads the log outside the core loop, one page at a time. Must not use the loop's CPU time, and must reject
 * when the signal aborts.
 */
export interface HistoryReader {
  read(query: HistoryQuery, signal: AbortSignal): Promise<HistoryPage>
}

/** Maximum number of records to scan per page. */
const scannedMax = 1_000_000

/** Bytes per record in an answer, in addition to the record itself. */
const entryBytes = 16

/** Maximum number of log openings to list per page; the newest are kept. */
const openingsMax = 1000

/** Maximum attempts per page; an attempt fails when its first segment is removed meanwhile. */
const attemptsMax = 3

export interface PageOptions {
  readonly scannedMax?: number
  readonly signal?: AbortSignal
}

/** The read-only view of a log that another process is writing. */
export type ReadableLog = Pick<LogReader, 'firstLsn' | 'openings' | 'replay'>

/** Reads one page of a task's history. */
export async function readPage(
  open: () => Promise<ReadableLog>,
  query: HistoryQuery,
  options: PageOptions = {},
): Promise<HistoryPage> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await new PageReading(await open(), query, options).read()
    } catch (error) {
      const isOvertaken = error instanceof WalError && error.code === 'WAL_FORGOTTEN'
      if (!isOvertaken || attempt === attemptsMax) throw error
    }
  }
}

class PageReading {
  readonly #log: ReadableLog
  readonly #query: HistoryQuery
  readonly #scannedMax: number
  readonly #signal: AbortSignal | undefined
  readonly #filter: TaskFilter
  readonly #fromLsn: number
  readonly #records: HistoryRecord[] = []
  #bytes = 0
  #scanned = 0
  /** The first LSN that was not scanned. */
  #untilLsn = Number.POSITIVE_INFINITY

  constructor(log: ReadableLog, query: HistoryQuery, options: PageOptions) {
    this.#log = log
    this.#query = query
    this.#scannedMax = options.scannedMax ?? scannedMax
    this.#signal = options.signal
    this.#filter = new TaskFilter(query.taskId, query)
    // A task's first record is its creation, whose LSN is the task's id.
    this.#fromLsn = Math.max(query.fromLsn, query.taskId, log.firstLsn)
  }

  async read(): Promise<HistoryPage> {
    const isFull = await this.#scan()
    return {
      firstLsn: this.#log.firstLsn,
      records: this.#records,
      openings: this.#openings(),
      next: isFull ? { fromLsn: this.#untilLsn, ...this.#filter.place } : undefined,
    }
  }

  /** True when the page is full; false at the end of the history. */
  async #scan(): Promise<boolean> {
    if (this.#fromLsn > this.#query.throughLsn) return false
    for await (const { firstLsn, records } of this.#log.replay({ fromLsn: this.#fromLsn })) {
      this.#signal?.throwIfAborted()
      let lsn = firstLsn
      for (const bytes of records) {
        if (lsn > this.#query.throughLsn) return false
        const isOver = this.#isOver(lsn, bytes)
        if (isOver || !this.#scanRecord(lsn, bytes)) {
          this.#untilLsn = lsn
          return !isOver
        }
        lsn++
      }
    }
    return false
  }

  /** Whether the history ends here: the task is forgotten, or its id names no task. */
  #isOver(lsn: number, bytes: Uint8Array): boolean {
    if (this.#filter.isForgotten) return true
    const isFirst = this.#scanned === 0 && this.#fromLsn === this.#query.taskId
    return isFirst && !isCreation(decodeRecord(bytes), lsn, this.#query.taskId)
  }

  /** Adds the record if it concerns the task; false when it does not fit in the page. */
  #scanRecord(lsn: number, bytes: Uint8Array): boolean {
    if (this.#scanned++ === this.#scannedMax) return false
    const record = decodeRecord(bytes)
    if (!this.#filter.concerns(record)) return true
    this.#bytes += bytes.length + entryBytes
    if (this.#bytes > this.#query.bytesMax && this.#records.length > 0) return false
    this.#filter.takes({ lsn, record })
    // Copy: the log reuses the buffer in its next step.
    this.#records.push({ lsn, bytes: new Uint8Array(bytes) })
    return true
  }

  #openings(): Opening[] {
    const isWithin = ({ firstLsn }: Opening) =>
      firstLsn >= this.#fromLsn && firstLsn < this.#untilLsn
    return this.#log.openings.filter(isWithin).slice(-openingsMax)
  }
}

function isCreation(record: LogRecord, lsn: number, taskId: number): boolean {
  return record.type === 'TaskCreated' && lsn === taskId
}
