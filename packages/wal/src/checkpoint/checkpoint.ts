import { crc32 } from 'node:zlib'
import type { Disk, DiskFile } from '../disk/disk.js'
import { readFully, removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { systemCode, WalError } from '../errors.js'
import {
  countZeroSectors,
  encodeBatchHeader,
  encodeRecord,
  nextBatchOffset,
  Place,
} from '../format/batch.js'
import { bytesEqual } from '../format/bytes.js'
import {
  type DecodedFileHeader,
  decodeFileHeader,
  encodeFileHeader,
  type FileHeader,
  type SegmentEnd,
} from '../format/file-header.js'
import { checkpointName, type Layout, temporarySuffix } from '../format/layout.js'
import {
  batchHeaderBytes,
  fileHeaderBytes,
  recordBytesCeiling,
  recordHeaderBytes,
} from '../format/limits.js'
import type { Lsn } from '../lsn.js'
import { Scanner } from '../scan/scanner.js'
import { isBytes } from '../write/records.js'

/**
 * A checkpoint holds the caller's state after some LSN, in the log's own framing: the header of a
 * segment, whose `previous` pins the place in the log, then one batch a chunk, then a batch without
 * records, which says that it is whole. What the chunks mean is the caller's business.
 */
export interface CheckpointFacts {
  readonly logId: Uint8Array
  readonly epoch: number
  readonly clockMs: number
  /** How many openings of the log had been marked as started, as far as its maker knows. */
  readonly starts: number
  /** The end of the sealed segment whose last record is the last one in the state. */
  readonly at: SegmentEnd
}

/** Writes the checkpoint, reads it back, and only then gives it its name. */
export async function writeCheckpoint(
  disk: Disk,
  layout: Layout,
  facts: CheckpointFacts,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const path = layout.checkpoint(facts.at.lastLsn)
  const temporary = path + temporarySuffix
  await disk.createDirectory(layout.checkpoints)
  await removeIfPresent(disk, temporary)
  try {
    await writeChunks(disk, temporary, facts, chunks)
    await verifyCheckpoint(disk, temporary, facts.at.lastLsn)
  } catch (error) {
    await removeIfPresent(disk, temporary)
    throw error
  }
  await disk.rename(temporary, path)
  await disk.syncDirectory(layout.checkpoints)
}

async function writeChunks(
  disk: Disk,
  path: string,
  facts: CheckpointFacts,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  await withFile(disk, path, 'create', async (file) => {
    const header = encodeFileHeader({
      kind: 'checkpoint',
      logId: facts.logId,
      sequence: 0,
      epoch: facts.epoch,
      firstLsn: 1,
      clockMs: facts.clockMs,
      segmentBytes: 0,
      firstBatch: 1,
      previous: facts.at,
      gap: 'none',
      starts: facts.starts,
    })
    await writeFully(file, header.bytes, 0)
    const place = new Place(facts.logId, 0)
    let offset = fileHeaderBytes
    let number = 1
    let chain = header.crc
    let unsyncedBytes = 0
    const add = async (chunk: Uint8Array | undefined) => {
      const bytes = new Uint8Array(
        batchHeaderBytes + (chunk === undefined ? 0 : recordHeaderBytes + chunk.length),
      )
      if (chunk !== undefined) encodeRecord(bytes, batchHeaderBytes, chunk)
      const body = bytes.subarray(batchHeaderBytes)
      offset = nextBatchOffset(offset)
      chain = encodeBatchHeader(
        bytes,
        {
          batch: number,
          firstLsn: number,
          count: chunk === undefined ? 0 : 1,
          bodyBytes: body.length,
          bodyCrc: crc32(body),
          chain,
          epoch: facts.epoch,
          zeroSectors: countZeroSectors(body, offset + batchHeaderBytes),
          clockMs: facts.clockMs,
          unsyncedBefore: 0,
          starts: facts.starts,
        },
        place.crcAt(offset),
      )
      await writeFully(file, bytes, offset)
      offset += bytes.length
      number++
      unsyncedBytes += bytes.length
      if (unsyncedBytes < syncEveryBytes) return
      // All of it at once would hold up the syncs of the log for as long as it takes.
      await file.sync()
      unsyncedBytes = 0
    }
    for await (const chunk of chunks) {
      if (!isBytes(chunk)) {
        throw new WalError('WAL_BAD_RECORD', "a checkpoint's chunks have to be Uint8Arrays")
      }
      if (chunk.length > recordBytesCeiling) {
        throw new WalError(
          'WAL_RECORD_TOO_LARGE',
          `a checkpoint's chunk has ${chunk.length} bytes; the most is ${recordBytesCeiling}`,
        )
      }
      await add(chunk)
    }
    await add(undefined)
    await file.sync()
  })
}

const syncEveryBytes = 2 ** 20

/** Reads all of it; fails with `WAL_BAD_CHECKPOINT` unless it is whole. Returns its header. */
export async function verifyCheckpoint(
  disk: Disk,
  path: string,
  lsn: Lsn,
): Promise<DecodedFileHeader> {
  const reading = readCheckpoint(disk, path, lsn)
  for (;;) {
    const step = await reading.next()
    if (step.done) return step.value
  }
}

/** The header alone: enough to know which place in the log it speaks of. */
export async function readCheckpointHeader(
  disk: Disk,
  path: string,
  lsn: Lsn,
): Promise<DecodedFileHeader> {
  return withFile(disk, path, 'read', (file) => decodeCheckpointHeader(file, lsn))
}

async function decodeCheckpointHeader(file: DiskFile, lsn: Lsn): Promise<DecodedFileHeader> {
  const name = checkpointName(lsn)
  const sector = await readFully(file, new Uint8Array(fileHeaderBytes), 0).catch(
    (cause: unknown) => {
      throw badCheckpoint(name, `it cannot be read: ${systemCode(cause)}`)
    },
  )
  const header = decodeFileHeader(sector, 'checkpoint', name)
  if (typeof header === 'string') throw badCheckpoint(name, header)
  if (header.previous.lastLsn === lsn) return header
  throw badCheckpoint(name, `it holds the state after LSN ${header.previous.lastLsn}`)
}

/** The chunks, in order, each a view that the next step ends; returns the header. */
export async function* readCheckpoint(
  disk: Disk,
  path: string,
  lsn: Lsn,
): AsyncGenerator<Uint8Array, DecodedFileHeader> {
  const name = checkpointName(lsn)
  const file = await disk.open(path, 'read')
  try {
    const fileBytes = await file.size()
    const header = await decodeCheckpointHeader(file, lsn)
    const scanner = new Scanner(file, fileBytes, header)
    for (;;) {
      const batch = await scanner.next()
      if (batch === undefined) {
        throw badCheckpoint(
          name,
          `it breaks off at byte ${scanner.offset}: ${scanner.finding?.kind}`,
        )
      }
      if (batch.header.count === 0) break
      yield batch.body.subarray(recordHeaderBytes)
    }
    if (scanner.end.offset !== fileBytes) throw badCheckpoint(name, 'bytes follow its end')
    return header
  } finally {
    await file.close()
  }
}

/** Fails with `WAL_BAD_CHECKPOINT` when the checkpoint is of another log, or of another course of this one. */
export function refuseForeignCheckpoint(
  { logId, previous: at }: FileHeader,
  segments: Iterable<{ readonly header: FileHeader }>,
): void {
  for (const { header } of segments) {
    const continues = header.previous.sequence === at.sequence && header.gap !== 'accepted-loss'
    if (!bytesEqual(logId, header.logId) || (continues && header.previous.chain !== at.chain)) {
      throw badCheckpoint(checkpointName(at.lastLsn), 'it is of another history')
    }
  }
}

/** Whether the checkpoint was read and found wanting. */
export function isBadCheckpoint(error: unknown): error is WalError {
  return error instanceof WalError && error.code === 'WAL_BAD_CHECKPOINT'
}

function badCheckpoint(name: string, why: string): WalError {
  return new WalError('WAL_BAD_CHECKPOINT', `${name} cannot be used: ${why}`)
}
