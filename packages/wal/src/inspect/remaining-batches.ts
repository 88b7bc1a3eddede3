import { crc32 } from 'node:zlib'
import type { DiskFile } from '../disk/disk.js'
import {
  type DecodedHeader,
  decodeRecords,
  findMisfit,
  nextBatchOffset,
  type Place,
} from '../format/batch.js'
import {
  batchAlignment,
  batchHeaderBytes,
  fileHeaderBytes,
  readWindowBytes,
} from '../format/limits.js'
import { extentOf, Stamps } from '../format/stamps.js'
import { salvage } from '../recover/salvage.js'
import { headersIn, sectorsIn } from '../scan/scanner.js'

/** A batch with a valid header. The content before it may be damaged. */
export interface RemainingBatch {
  readonly offset: number
  readonly header: DecodedHeader
  /** Copies. Absent if the body fails its checksum. */
  readonly records: readonly Uint8Array[] | undefined
}

/**
 * Every batch of a segment from an offset on, skipping damage and unreadable sectors. Only the
 * batch numbers show whether some are missing in between.
 */
export async function* readRemainingBatches(
  file: DiskFile,
  place: Place,
  fromOffset: number,
): AsyncGenerator<RemainingBatch> {
  const fileBytes = await file.size()
  // A header may cross two pieces, so pieces overlap by a header minus the alignment.
  const step = readWindowBytes - (batchHeaderBytes - batchAlignment)
  // Start at an aligned place, so that a header that crosses the end of one piece lies completely
  // in the next one.
  let next = nextBatchOffset(fromOffset)
  for (let start = next; start < fileBytes; start += step) {
    const piece = await salvage(file, Math.min(readWindowBytes, fileBytes - start), start)
    for (const { offset, header } of headersIn(piece, start, place)) {
      if (offset < next) continue
      const end = offset + extentOf(offset, header.bodyBytes).contentBytes
      const records = end > fileBytes ? undefined : await readBody(file, place, offset, header)
      next = records === undefined ? offset + batchAlignment : end
      yield { offset, header, records }
    }
  }
}

async function readBody(
  file: DiskFile,
  { stamps }: Place,
  offset: number,
  { bodyBytes, bodyCrc, count }: DecodedHeader,
): Promise<Uint8Array[] | undefined> {
  const batch = await salvage(file, extentOf(offset, bodyBytes).contentBytes, offset)
  if (crc32(batch.subarray(batchHeaderBytes)) !== bodyCrc) return undefined
  stamps.restore(batch, offset, bodyBytes)
  const body = batch.subarray(batchHeaderBytes, batchHeaderBytes + bodyBytes)
  if (findMisfit(body, count) !== undefined) return undefined
  const records: Uint8Array[] = []
  decodeRecords(body, count, records)
  return records
}

/**
 * The life in which a segment's file was written last: the one in the first valid stamp, because a
 * segment is written from its start. The CRC of its header, if the header is unreadable.
 */
export async function findLife(file: DiskFile, logId: Uint8Array): Promise<number | undefined> {
  const stamps = new Stamps(logId, 0)
  const fileBytes = await file.size()
  for (let start = fileHeaderBytes; start < fileBytes; start += readWindowBytes) {
    const piece = await salvage(file, Math.min(readWindowBytes, fileBytes - start), start)
    for (const { sector, offset } of sectorsIn(piece, start)) {
      const life = stamps.lifeOf(sector, offset)
      if (life !== undefined) return life
    }
  }
  return undefined
}
