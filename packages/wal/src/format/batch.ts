import { crc32 } from 'node:zlib'
import type { Lsn } from '../lsn.js'
import { alignUp, readUint64, viewOf, writeUint64 } from './bytes.js'
import type { FileHeader } from './file-header.js'
import { batchAlignment, batchHeaderBytes, recordHeaderBytes, sectorBytes } from './limits.js'
import { extentOf, headerRoomBytes, Stamps } from './stamps.js'

/**
 * A batch is the atomic unit of the log: one write, one sync, one checksum.
 *
 *     offset  bytes  header
 *          0      4  magic "TNRB"
 *          4      4  CRC32 of bytes 8 to 63, seeded with the CRC32 of log id, life, kind of file and file offset
 *          8      8  batch number, counted through the whole log
 *         16      8  LSN of the first record (of the next one, if there are none)
 *         24      4  records
 *         28      4  body length in bytes
 *         32      4  CRC32 of body and slots, as they are on the disk
 *         36      4  chain: the header CRC of the previous batch (the first: of the segment header)
 *         40      4  epoch
 *         44      4  zero
 *         48      8  the writer's clock, milliseconds since the epoch
 *         56      4  previous batches that were not synced yet when this one was written
 *         60      4  starts: how many opens of the log have been marked as started
 *         64      …  body: the records, each after its length (24 bits) and its type (8 bits)
 *          …      …  from the next multiple of 8 on: slots with the bytes that stamps displace (`Stamps`)
 *
 * All integers are little-endian. A header starts at a multiple of 8 and lies within one sector, before
 * its stamp, so one lost sector cannot make it look damaged. A batch without records is a sync mark: it
 * proves that the batch before it was synced, and it carries the clock and the number of starts.
 */
export interface BatchHeader {
  readonly batch: number
  readonly firstLsn: Lsn
  readonly count: number
  readonly bodyBytes: number
  readonly bodyCrc: number
  readonly chain: number
  readonly epoch: number
  readonly clockMs: number
  readonly unsyncedBefore: number
  /** How many opens of the log have been marked as started, including the current one if it is marked. */
  readonly starts: number
}

const magic = 0x42_52_4e_54
export const batchMagic = Buffer.from('TNRB', 'latin1')

/**
 * Binds batches to their log, to the kind and the life of their file, and to their place in it: the
 * same bytes anywhere else do not pass as a batch.
 */
export class Place {
  readonly stamps: Stamps
  readonly #bytes = new Uint8Array(32)
  readonly #view = viewOf(this.#bytes)

  /** `life` is the CRC of the file's header. */
  constructor(logId: Uint8Array, life: number, kind: FileHeader['kind'] = 'segment') {
    this.stamps = new Stamps(logId, life)
    this.#bytes.set(logId, 0)
    this.#view.setUint32(16, life, true)
    this.#bytes[20] = kind === 'checkpoint' ? 1 : 0
  }

  crcAt(offset: number): number {
    writeUint64(this.#view, 24, offset)
    return crc32(this.#bytes)
  }
}

/** Where the next batch starts if the last one ends at `end`. */
export function nextBatchOffset(end: number): number {
  const offset = alignUp(end, batchAlignment)
  const left = sectorBytes - (offset % sectorBytes)
  return left < headerRoomBytes ? offset + left : offset
}

/** The part of a header that the caller knows. The rest follows from the batch's bytes. */
export type BatchFacts = Omit<BatchHeader, 'bodyBytes' | 'bodyCrc'>

/** A batch that is ready to be written. */
export interface SealedBatch {
  /** From the header to the end of the last sector. */
  readonly bytes: Uint8Array
  /** The header's CRC, which is the chain value of the next batch. */
  readonly chain: number
  /** Where its content ends in the file. */
  readonly end: number
}

/**
 * Completes a batch for its place: stamps, slots, checksums and header. `buffer` contains the
 * records from the end of the header on, and has room for the extent.
 */
export function sealBatch(
  buffer: Uint8Array,
  bodyBytes: number,
  facts: BatchFacts,
  place: Place,
  offset: number,
): SealedBatch {
  const extent = extentOf(offset, bodyBytes)
  const bytes = buffer.subarray(0, extent.writtenBytes)
  place.stamps.apply(bytes, offset, extent)
  const bodyCrc = crc32(bytes.subarray(batchHeaderBytes, extent.contentBytes))
  const header = { ...facts, bodyBytes, bodyCrc }
  const chain = encodeBatchHeader(bytes, header, place.crcAt(offset))
  return { bytes, chain, end: offset + extent.contentBytes }
}

/** Writes the header to the start of `bytes` and returns its CRC. */
export function encodeBatchHeader(
  bytes: Uint8Array,
  header: BatchHeader,
  placeCrc: number,
): number {
  const view = viewOf(bytes)
  view.setUint32(0, magic, true)
  writeUint64(view, 8, header.batch)
  writeUint64(view, 16, header.firstLsn)
  view.setUint32(24, header.count, true)
  view.setUint32(28, header.bodyBytes, true)
  view.setUint32(32, header.bodyCrc, true)
  view.setUint32(36, header.chain, true)
  view.setUint32(40, header.epoch, true)
  view.setUint32(44, 0, true)
  writeUint64(view, 48, header.clockMs)
  view.setUint32(56, header.unsyncedBefore, true)
  view.setUint32(60, header.starts, true)
  const crc = crc32(bytes.subarray(8, batchHeaderBytes), placeCrc)
  view.setUint32(4, crc, true)
  return crc
}

export interface DecodedHeader extends BatchHeader {
  readonly crc: number
}

/** The header at the start of `bytes`, or `undefined` if its magic or CRC is wrong. */
export function decodeBatchHeader(bytes: Uint8Array, placeCrc: number): DecodedHeader | undefined {
  const view = viewOf(bytes)
  if (view.getUint32(0, true) !== magic) return undefined
  const crc = view.getUint32(4, true)
  if (crc32(bytes.subarray(8, batchHeaderBytes), placeCrc) !== crc) return undefined
  return {
    crc,
    batch: readUint64(view, 8),
    firstLsn: readUint64(view, 16),
    count: view.getUint32(24, true),
    bodyBytes: view.getUint32(28, true),
    bodyCrc: view.getUint32(32, true),
    chain: view.getUint32(36, true),
    epoch: view.getUint32(40, true),
    clockMs: readUint64(view, 48),
    unsyncedBefore: view.getUint32(56, true),
    starts: view.getUint32(60, true),
  }
}

const typeRecord = 1

/** Writes one record into a body. Returns the position after it. */
export function encodeRecord(into: Uint8Array, at: number, record: Uint8Array): number {
  const length = record.length
  into[at] = length
  into[at + 1] = length >>> 8
  into[at + 2] = length >>> 16
  into[at + 3] = typeRecord
  into.set(record, at + recordHeaderBytes)
  return at + recordHeaderBytes + length
}

/**
 * Why a body that passed its CRC does not contain `count` records, or `undefined` if it does. Such
 * a body is not a torn write. A newer version or a bug wrote it.
 */
export function findMisfit(body: Uint8Array, count: number): string | undefined {
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + recordHeaderBytes > body.length) return `record ${index} starts after the body's end`
    const type = body[at + 3]
    if (type !== typeRecord) return `record ${index} has the unknown type ${type}`
    at += recordHeaderBytes + recordLength(body, at)
    if (at > body.length) return `record ${index} extends past the body's end`
  }
  return at === body.length ? undefined : `${body.length - at} bytes remain after the last record`
}

/** Adds the records of a body to `records`, as views. Check the body with `findMisfit` first. */
export function decodeRecords(body: Uint8Array, count: number, records: Uint8Array[]): void {
  let at = 0
  for (let index = 0; index < count; index++) {
    const from = at + recordHeaderBytes
    at = from + recordLength(body, at)
    records.push(body.subarray(from, at))
  }
}

function recordLength(body: Uint8Array, at: number): number {
  return body[at]! | (body[at + 1]! << 8) | (body[at + 2]! << 16)
}
