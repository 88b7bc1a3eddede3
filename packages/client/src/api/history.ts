import { largestCount } from '@tenure/options'
import type {
  HistoryFound,
  HistoryPlace,
  HistoryRecord,
  NewRequest,
  Opening,
} from '@tenure/protocol'
import { check, TenureError } from '../errors.js'
import { type CallOptions, checkCallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { demandPatiently } from './demand.js'

export type { HistoryRecord, Opening } from '@tenure/protocol'

export interface HistoryOptions extends CallOptions {
  /** For each page: the coordinator reads a large part of its log for one. Default 60 s. */
  readonly timeoutMs?: number | undefined
  /** Told after each page. */
  readonly onProgress?: ((progress: HistoryProgress) => void) | undefined
  /** More than this is not kept in memory: `CLIENT_TOO_LARGE`. Default 64 MiB. */
  readonly bytesMax?: number | undefined
}

export interface HistoryProgress {
  /** Every record of the log before this LSN has been looked at; undefined when all have been. */
  readonly nextLsn: number | undefined
  /** How many have been found, and are in the log still. */
  readonly records: number
}

/** What the log holds about one task. */
export interface TaskHistory {
  /** Where the log began when it was read: a task with a lower id has lost its beginning. */
  readonly firstLsn: number
  /** In the order of the log. The bytes are those of the log: `@tenure/state-machine` decodes them. */
  readonly records: readonly HistoryRecord[]
  /** Where coordinators opened the log, from the task's creation on. */
  readonly openings: readonly Opening[]
}

const names: readonly (keyof HistoryOptions)[] = ['onProgress', 'bytesMax']
const timeoutMsDefault = 60_000
const bytesMaxDefault = 64 * 1024 * 1024
/** What a record or an opening takes in memory beside its bytes, roughly. */
const entryBytes = 128

/** Page by page, until the end of what was on the coordinator's disk. */
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
  let place: HistoryPlace | undefined = { fromLsn: 1 }
  while (place !== undefined) {
    const request: NewRequest = { kind: 'history', taskId, ...place }
    const call = { signal, timeoutMs, retry: true, retryLater: true }
    const page: HistoryFound = await demandPatiently(link, request, 'history', call)
    if (page.firstLsn > place.fromLsn) {
      // The log has lost what comes before. With a hole in it a history would be misunderstood.
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

/** A page that led back would be asked for without end. */
function checkedNext({ next }: HistoryFound, { fromLsn }: HistoryPlace): HistoryPlace | undefined {
  if (next === undefined || next.fromLsn > fromLsn) return next
  const message = `a page of history from LSN ${fromLsn} leads on to ${next.fromLsn}`
  throw new TenureError('CLIENT_PROTOCOL', message)
}

function bytesOf({ records, openings }: HistoryFound): number {
  const entries = (records.length + openings.length) * entryBytes
  return records.reduce((sum, { bytes }) => sum + bytes.length, entries)
}

function tooLarge(taskId: number, bytesMax: number): TenureError {
  const message =
    `the history of task ${taskId} takes more than ${bytesMax} bytes; ` +
    'give a larger bytesMax to keep all of it in memory'
  return new TenureError('CLIENT_TOO_LARGE', message)
}
