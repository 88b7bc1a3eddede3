import type { Disk } from '../disk/disk.js'
import { readFully, withFile } from '../disk/files.js'
import { WalDamageError, WalError } from '../errors.js'
import { decodeRecords } from '../format/batch.js'
import { type DecodedFileHeader, decodeFileHeader } from '../format/file-header.js'
import { type Layout, segmentPath } from '../format/layout.js'
import { fileHeaderBytes } from '../format/limits.js'
import type { Lsn } from '../lsn.js'
import { refuseReused } from './reuse.js'
import { Scanner } from './scanner.js'
import { describeFinding } from './verdict.js'

/**
 * Consecutive records. They are views of a reused buffer: copy a record to keep it beyond the next
 * step.
 */
export interface RecordRange {
  readonly firstLsn: Lsn
  readonly records: readonly Uint8Array[]
}

export interface SegmentToRead {
  readonly name: string
  /** The first LSN in the segment. */
  readonly firstLsn: Lsn
  /** The last LSN to read from the segment. A segment that ends earlier is damaged. */
  readonly lastLsn: Lsn
}

/** The records from `fromLsn` on, verified while reading. */
export async function* readRecords(
  disk: Disk,
  layout: Layout,
  segments: Iterable<SegmentToRead>,
  fromLsn: Lsn,
): AsyncGenerator<RecordRange> {
  for (const segment of segments) {
    const { name, lastLsn } = segment
    if (lastLsn < fromLsn) continue
    const header = await readHeader(disk, layout, segment)
    const file = await disk.open(layout.segment(name), 'read')
    try {
      const scanner = new Scanner(file, await file.size(), header)
      while (scanner.nextLsn <= lastLsn) {
        const run = takeRange(scanner, fromLsn, lastLsn)
        if (run !== undefined) yield run
        if (scanner.nextLsn > lastLsn) break
        if (scanner.finding !== undefined) {
          await refuseReused(file, name, header)
          throw damageFound(name, scanner, lastLsn)
        }
        await scanner.fill()
      }
    } finally {
      await file.close()
    }
  }
}

/** `coveredBy` is the LSN of a checkpoint that includes the missing records, if there is one. */
export function damageFound(
  name: string,
  scanner: Scanner,
  lastMissingLsn: Lsn,
  coveredBy?: Lsn,
): WalDamageError {
  const { offset, nextLsn } = scanner
  return new WalDamageError({
    kind: 'corrupt',
    file: segmentPath(name),
    offset,
    firstMissingLsn: nextLsn,
    lastMissingLsn,
    why: `${describeFinding(scanner.finding!)}, where acknowledged data should be`,
    coveredBy,
  })
}

/** All records in the scanner's window, from the batches that start in the range. */
export function takeRange(
  scanner: Scanner,
  fromLsn: Lsn,
  throughLsn: Lsn,
): RecordRange | undefined {
  let firstLsn: Lsn | undefined
  const records: Uint8Array[] = []
  while (scanner.nextLsn <= throughLsn) {
    const batch = scanner.take()
    if (batch === undefined) break
    const { firstLsn: batchLsn, count } = batch.header
    if (batchLsn + count <= fromLsn) continue
    firstLsn ??= batchLsn
    decodeRecords(batch.body, count, records)
  }
  if (firstLsn === undefined || records.length === 0) return undefined
  const before = Math.max(0, fromLsn - firstLsn)
  return { firstLsn: firstLsn + before, records: before === 0 ? records : records.slice(before) }
}

async function readHeader(
  disk: Disk,
  layout: Layout,
  { name, firstLsn, lastLsn }: SegmentToRead,
): Promise<DecodedFileHeader> {
  return withFile(disk, layout.segment(name), 'read', async (file) => {
    const sector = await readFully(file, new Uint8Array(fileHeaderBytes), 0)
    const header = decodeFileHeader(sector, 'segment', name)
    if (typeof header !== 'string') return header
    throw new WalDamageError({
      kind: 'corrupt',
      file: segmentPath(name),
      firstMissingLsn: firstLsn,
      lastMissingLsn: lastLsn,
      why: header,
    })
  })
}

/** The LSN at which a replay starts, validated. */
export function checkedStart(asked: Lsn | undefined, checkpointLsn: Lsn, firstLsn: Lsn): Lsn {
  const fromLsn = asked ?? Math.max(checkpointLsn + 1, firstLsn)
  if (!Number.isSafeInteger(fromLsn) || fromLsn < 1) {
    throw new WalError(
      'WAL_BAD_OPTION',
      `fromLsn is ${fromLsn}; it must be an integer of at least 1`,
    )
  }
  if (fromLsn < firstLsn) throw removedError(fromLsn, firstLsn)
  return fromLsn
}

export function removedError(asked: Lsn, first: Lsn): WalError {
  return new WalError(
    'WAL_FORGOTTEN',
    `LSN ${asked} was removed by a truncation; the first remaining record is LSN ${first}`,
    {
      remedy: `First load a checkpoint at LSN ${first - 1} or later, then read the records after it`,
    },
  )
}
