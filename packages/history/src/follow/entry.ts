import { decodeRecord, type LogRecord } from '@tenure/state-machine'
import { HistoryError } from '../errors.js'
import type { RecordRange } from './log-source.js'

/** A record and its LSN. */
export interface Entry {
  readonly lsn: number
  readonly record: LogRecord
}

/** The decoded records, one by one. Their bytes are views on the log's buffer. */
export function* entriesOf({ firstLsn, records }: RecordRange): Generator<Entry> {
  let lsn = firstLsn
  for (const bytes of records) {
    yield { lsn, record: decodeAt(lsn, bytes) }
    lsn++
  }
}

export function decodeAt(lsn: number, bytes: Uint8Array): LogRecord {
  try {
    return decodeRecord(bytes)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new HistoryError('HISTORY_UNREADABLE_RECORD', `the record at LSN ${lsn}: ${why}`, {
      cause,
    })
  }
}

/** A copy of an entry that shares no bytes with the log's buffer. */
export function keep({ lsn, record }: Entry): Entry {
  switch (record.type) {
    case 'TaskCreated':
      return { lsn, record: { ...record, payload: Uint8Array.from(record.payload) } }
    case 'TaskCompleted':
      return record.result === undefined
        ? { lsn, record }
        : { lsn, record: { ...record, result: Uint8Array.from(record.result) } }
    default:
      return { lsn, record }
  }
}
