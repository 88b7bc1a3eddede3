import type { HistoryPlace, HistoryRecord, Opening } from '@tenure/protocol'
import { decodeRecord, type LogRecord } from '@tenure/state-machine'
import { type LogReader, WalError } from '@tenure/wal'
import type { HistoryPage, HistoryQuery } from './history-reader.js'
import { HistoryScan } from './history-scan.js'

/** How many records one page looks at. */
const lookedAtMax = 1_000_000

/** What a record takes in an answer beside its bytes. */
const entryBytes = 16

/** How often a page is begun again because the part of the log that it began with has gone. */
const startsMax = 3

export interface PageOptions {
  readonly lookedAtMax?: number
  readonly signal?: AbortSignal
}

/** One page of the history of a task, read from a log that somebody else is writing. */
export async function readPage(
  open: () => Promise<LogReader>,
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
  readonly #log: LogReader
  readonly #query: HistoryQuery
  readonly #lookedAtMax: number
  readonly #signal: AbortSignal | undefined
  readonly #scan: HistoryScan
  readonly #fromLsn: number
  readonly #records: HistoryRecord[] = []
  #bytes = 0
  #lookedAt = 0

  constructor(log: LogReader, query: HistoryQuery, options: PageOptions) {
    this.#log = log
    this.#query = query
    this.#lookedAtMax = options.lookedAtMax ?? lookedAtMax
    this.#signal = options.signal
    this.#scan = new HistoryScan(query.taskId, query, query.leaseIds)
    // Nothing is said about a task before its creation, whose LSN is its id.
    this.#fromLsn = Math.max(query.fromLsn, query.taskId, log.firstLsn)
  }

  async read(): Promise<HistoryPage> {
    const nextLsn = await this.#lookAtAll()
    const { firstLsn } = this.#log
    const next: HistoryPlace | undefined =
      nextLsn === undefined ? undefined : this.#scan.placeAt(nextLsn)
    const openings = this.#openingsBefore(nextLsn)
    return { firstLsn, records: this.#records, openings, ...(next !== undefined && { next }) }
  }

  /** The LSN at which the page is full; `undefined` when there is no more to find. */
  async #lookAtAll(): Promise<number | undefined> {
    if (this.#fromLsn > this.#query.throughLsn) return undefined
    for await (const { firstLsn, records } of this.#log.replay({ fromLsn: this.#fromLsn })) {
      this.#signal?.throwIfAborted()
      let lsn = firstLsn
      for (const bytes of records) {
        if (lsn > this.#query.throughLsn || this.#isOver(lsn, bytes)) return undefined
        if (!this.#look(lsn, bytes)) return lsn
        lsn++
      }
    }
    return undefined
  }

  /** Whether nothing follows, because the task is forgotten or its id is that of no task. */
  #isOver(lsn: number, bytes: Uint8Array): boolean {
    if (this.#scan.isForgotten) return true
    const isFirst = this.#lookedAt === 0 && this.#fromLsn === this.#query.taskId
    return isFirst && !isCreation(decodeRecord(bytes), lsn, this.#query.taskId)
  }

  /** Takes the record if it concerns the task; false when the page has no room for it. */
  #look(lsn: number, bytes: Uint8Array): boolean {
    if (this.#lookedAt++ === this.#lookedAtMax) return false
    const record = decodeRecord(bytes)
    if (!this.#scan.concerns(record)) return true
    this.#bytes += bytes.length + entryBytes
    if (this.#bytes > this.#query.bytesMax && this.#records.length > 0) return false
    this.#scan.take(lsn, record)
    // What the log hands out is a view that the next step ends.
    this.#records.push({ lsn, bytes: new Uint8Array(bytes) })
    return true
  }

  #openingsBefore(_nextLsn: number | undefined): Opening[] {
    return []
  }
}

function isCreation(record: LogRecord, lsn: number, taskId: number): boolean {
  return record.type === 'TaskCreated' && lsn === taskId
}
