import { largestCount } from '@tenure/options'
import type {
  HistoryCursor,
  HistoryFound,
  HistoryRecord,
  NewRequest,
  Opening,
} from '@tenure/protocol'
import { check, protocolError, TenureError } from '../errors.js'
import { type CallOptions, checkCallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { demandWithRetry } from './demand.js'

export type { HistoryRecord, Opening } from '@tenure/protocol'

export interface HistoryOptions extends CallOptions {
  /** Timeout per page; the coordinator reads a large part of its log for one. Default 60 s. */
  readonly timeoutMs?: number | undefined
  /** Called after each page. */
  readonly onProgress?: ((progress: HistoryProgress) => void) | undefined
  /** Memory limit; a larger history fails with `CLIENT_TOO_LARGE`. Default 64 MiB. */
  readonly bytesMax?: number | undefined
}

export interface HistoryProgress {
  /** All records before this LSN have been searched; undefined when all have been. */
  readonly nextLsn: number | undefined
  /** Number of records found that are still in the log. */
  readonly records: number
}

/** The log's records about one task. */
export interface TaskHistory {
  /** The first LSN of the log. If it is greater than the task's id, the task's first records are gone. */
  readonly firstLsn: number
  /** In log order, with the bytes as logged; decode them with `@tenure/state-machine`. */
  readonly records: readonly HistoryRecord[]
  /** The times the log was opened since the task's creation. */
  readonly openings: readonly Opening[]
}

const names: readonly (keyof HistoryOptions)[] = ['onProgress', 'bytesMax']
const timeoutMsDefault = 60_000
const bytesMaxDefault = 64 * 1024 * 1024
/** Approximate memory per record or opening, in addition to its bytes. */
const entryBytes = 128

/** Reads all pages of a history. */
export async function readHistory(
  link: Link,
  taskId: number,
  options: HistoryOptions,
): Promise<TaskHistory> {
  checkCallOptions(options, names)
  const { signal, timeoutMs = timeoutMsDefault, onProgress } = options
  const bytesMax = check.whole('bytesMax', options.bytesMax ?? bytesMaxDefault, 1, largestCount)
  const records: HistoryRecord[] = []
  const openings: Opening[] = []
  let firstLsn = 1
  let bytes = 0
  let place: HistoryCursor | undefined = { fromLsn: 1 }
  while (place !== undefined) {
    const request: NewRequest = { kind: 'history', taskId, ...place }
    const call = { signal, timeoutMs, retry: true, retryLater: true }
    const page: HistoryFound = await demandWithRetry(link, request, 'history', call)
    if (page.firstLsn > place.fromLsn) {
      // Earlier records were removed meanwhile. Drop the pages before the gap, which would be misleading.
      firstLsn = page.firstLsn
      records.length = 0
      openings.length = 0
      bytes = 0
    }
    bytes += bytesOf(page)
    if (bytes > bytesMax) throw tooLarge(taskId, bytesMax)
    records.push(...page.records)
    openings.push(...page.openings)
    place = checkedNext(page, place)
    onProgress?.({ nextLsn: place?.fromLsn, records: records.length })
  }
  return { firstLsn, records, openings }
}

/** Rejects a page that does not advance, which would cause an endless loop. */
function checkedNext(
  { next }: HistoryFound,
  { fromLsn }: HistoryCursor,
): HistoryCursor | undefined {
  if (next === undefined || next.fromLsn > fromLsn) return next
  const message = `the history page from LSN ${fromLsn} continues at ${next.fromLsn}; expected a higher LSN`
  throw protocolError(message)
}

function bytesOf({ records, openings }: HistoryFound): number {
  const entries = (records.length + openings.length) * entryBytes
  return records.reduce((sum, { bytes }) => sum + bytes.length, entries)
}

function tooLarge(taskId: number, bytesMax: number): TenureError {
  const message =
    `the history of task ${taskId} is larger than ${bytesMax} bytes; ` +
    'increase bytesMax to read all of it'
  return new TenureError('CLIENT_TOO_LARGE', message)
}
