import { TaskFilter } from '@tenure/history/internal'
import type { HistoryFound, HistoryPlace, HistoryRecord, Opening } from '@tenure/protocol'

import { decodeRecord, type LogRecord } from '@tenure/state-machine'
import { type LogReader, WalError } from '@tenure/wal'

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

/** How many records one page looks at. */
const lookedAtMax = 1_000_000

/** What a record takes in an answer beside its bytes. */
const entryBytes = 16

/** How many openings a page tells, the last ones: hardly anybody starts a coordinator so often. */
const openingsMax = 1000

/** How often a page is begun again because the part of the log that it began with has gone. */
const startsMax = 3

export interface PageOptions {
  readonly lookedAtMax?: number
  readonly signal?: AbortSignal
}

/** What is read of a log that somebody else is writing. */
export type ReadableLog = Pick<LogReader, 'firstLsn' | 'openings' | 'replay'>

/** One page of the history of a task. */
export async function readPage(
  open: () => Promise<ReadableLog>,
  query: HistoryQuery,
  options: PageOptions = {},
): Promise<HistoryPage> {
  for (let start = 1; ; start++) {
    try {
      return await new PageReading(await open(), query, options).read()
    } catch (error) {
      const isOvertaken = error instanceof WalError && error.code === 'WAL_FORGOTTEN'
      if (!isOvertaken || start === startsMax) throw error
    }
  }
}

class PageReading {
  readonly #log: ReadableLog
  readonly #query: HistoryQuery
  readonly #lookedAtMax: number
  readonly #signal: AbortSignal | undefined
  readonly #filter: TaskFilter
  readonly #fromLsn: number
  readonly #records: HistoryRecord[] = []
  #bytes = 0
  #lookedAt = 0
  /** The first one that was not looked at. */
  #untilLsn = Number.POSITIVE_INFINITY

  constructor(log: ReadableLog, query: HistoryQuery, options: PageOptions) {
    this.#log = log
    this.#query = query
    this.#lookedAtMax = options.lookedAtMax ?? lookedAtMax
    this.#signal = options.signal
    this.#filter = new TaskFilter(query.taskId, query)
    // Nothing is said about a task before its creation, whose LSN is its id.
    this.#fromLsn = Math.max(query.fromLsn, query.taskId, log.firstLsn)
  }

  async read(): Promise<HistoryPage> {
    const isFull = await this.#lookAtAll()
    return {
      firstLsn: this.#log.firstLsn,
      records: this.#records,
      openings: this.#openings(),
      next: isFull ? { fromLsn: this.#untilLsn, ...this.#filter.place } : undefined,
    }
  }

  /** True when the page is full, false when there is no more to find. */
  async #lookAtAll(): Promise<boolean> {
    if (this.#fromLsn > this.#query.throughLsn) return false
    for await (const { firstLsn, records } of this.#log.replay({ fromLsn: this.#fromLsn })) {
      this.#signal?.throwIfAborted()
      let lsn = firstLsn
      for (const bytes of records) {
        if (lsn > this.#query.throughLsn) return false
        const isOver = this.#isOver(lsn, bytes)
        if (isOver || !this.#look(lsn, bytes)) {
          this.#untilLsn = lsn
          return !isOver
        }
        lsn++
      }
    }
    return false
  }

  /** Whether nothing follows, because the task is forgotten or its id is that of no task. */
  #isOver(lsn: number, bytes: Uint8Array): boolean {
    if (this.#filter.isForgotten) return true
    const isFirst = this.#lookedAt === 0 && this.#fromLsn === this.#query.taskId
    return isFirst && !isCreation(decodeRecord(bytes), lsn, this.#query.taskId)
  }

  /** Takes the record if it concerns the task; false when the page has no room for it. */
  #look(lsn: number, bytes: Uint8Array): boolean {
    if (this.#lookedAt++ === this.#lookedAtMax) return false
    const record = decodeRecord(bytes)
    if (!this.#filter.concerns(record)) return true
    this.#bytes += bytes.length + entryBytes
    if (this.#bytes > this.#query.bytesMax && this.#records.length > 0) return false
    this.#filter.takes({ lsn, record })
    // What the log hands out is a view that the next step ends.
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
