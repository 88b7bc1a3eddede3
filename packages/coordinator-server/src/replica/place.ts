import {
  type DecodedEntry,
  decodeEntry,
  type LogRange,
  type SharedLog,
  SharedLogError,
  type StoredEntry,
} from '@tenure/shared-log'
import type { RecordRange } from '@tenure/wal'

/** The records of a copy, to compare them with the shared log. */
export interface ComparedCopy {
  readonly firstLsn: number
  readonly nextLsn: number
  replay(options: { readonly fromLsn: number }): AsyncIterable<RecordRange>
}

/** Where a copy stands in the shared log: the last entry of which it has all records. */
export interface Place {
  /** 0 before the first entry. */
  readonly seq: number
  /** Absent before the first entry that is left. */
  readonly entry: DecodedEntry | undefined
}

/**
 * Finds the copy's place by bisection: LSNs rise from entry to entry. Fails with `LOG_LOST` if the copy
 * reaches further than the shared log, or contains other records.
 */
export async function findPlace(
  shared: SharedLog,
  { first, last }: LogRange,
  copy: ComparedCopy,
): Promise<Place> {
  const lastLsn = copy.nextLsn - 1
  if (last === 0) {
    if (lastLsn === 0) return { seq: 0, entry: undefined }
    throw lost(lastLsn, 'the shared log is empty')
  }
  const { seq, entry: found } = await placeThrough(shared, { first, last }, lastLsn)
  if (found === undefined) {
    const oldest = await readEntry(shared, first)
    if (oldest.firstLsn > lastLsn + 1) throw truncated(lastLsn, oldest.firstLsn)
    return { seq, entry: undefined }
  }
  await compare(found, seq, copy)
  if (seq === last && endOf(found) < lastLsn)
    throw lost(lastLsn, `the shared log ends at LSN ${endOf(found)}`)
  return { seq, entry: found }
}

/** The last entry all of whose records have an LSN of at most this. */
export async function lastEntryThrough(
  shared: SharedLog,
  range: LogRange,
  lsn: number,
): Promise<number> {
  return (await placeThrough(shared, range, lsn)).seq
}

/** LSNs rise from entry to entry. */
async function placeThrough(
  shared: SharedLog,
  { first, last }: Pick<LogRange, 'first' | 'last'>,
  lsn: number,
): Promise<Place> {
  let low = first - 1
  let high = last
  let found: DecodedEntry | undefined
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const entry = await readEntry(shared, middle)
    if (endOf(entry) <= lsn) {
      low = middle
      found = entry
    } else high = middle - 1
  }
  return { seq: low, entry: found }
}

async function readEntry(shared: SharedLog, seq: number): Promise<DecodedEntry> {
  const abort = new AbortController()
  let found: StoredEntry | undefined
  for await (const entry of shared.follow(seq - 1, abort.signal)) {
    found = entry
    abort.abort()
  }
  if (found === undefined) throw new Error(`entry ${seq} of the shared log was not read`)
  return decodeEntry(found.bytes, seq)
}

function endOf({ firstLsn, records }: DecodedEntry): number {
  return firstLsn + records.length - 1
}

/** The copy must contain the entry's records, byte for byte, as far as it still has them. */
async function compare(
  { firstLsn, records }: DecodedEntry,
  seq: number,
  copy: ComparedCopy,
): Promise<void> {
  const from = Math.max(firstLsn, copy.firstLsn)
  if (records.length === 0 || from >= firstLsn + records.length) return
  for await (const run of copy.replay({ fromLsn: from })) {
    for (const [index, record] of run.records.entries()) {
      const lsn = run.firstLsn + index
      const expected = records[lsn - firstLsn]
      if (expected === undefined) return
      if (Buffer.compare(expected, record) === 0) continue
      throw lost(lsn, `entry ${seq} of the shared log contains another record at that LSN`)
    }
  }
}

/** The shared log does not contain what this copy has. */
export function lost(lsn: number, why: string): SharedLogError {
  return new SharedLogError(
    'LOG_LOST',
    `the shared log has lost records: a copy reaches LSN ${lsn}, but ${why}`,
    'Stop all coordinators, and create a new shared log from the data directory with the highest last LSN',
  )
}

function truncated(lastLsn: number, firstLsn: number): SharedLogError {
  return new SharedLogError(
    'LOG_TRUNCATED',
    `this copy ends at LSN ${lastLsn}, and the shared log begins at LSN ${firstLsn}`,
    "Remove this node's data directory: it is then copied anew from a checkpoint",
  )
}
