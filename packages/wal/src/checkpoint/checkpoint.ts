import type { Disk, DiskFile } from '../disk/disk.js'
import { readFully, removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { systemCode, WalError } from '../errors.js'
import { encodeRecord, nextBatchOffset, Place, sealBatch } from '../format/batch.js'
import { alignUp, bytesEqual } from '../format/bytes.js'
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
  sectorBytes,
} from '../format/limits.js'
import { extentOf } from '../format/stamps.js'
import type { Lsn } from '../lsn.js'
import { Scanner } from '../scan/scanner.js'
import { describeFinding } from '../scan/verdict.js'
import { isBytes } from '../write/records.js'

/**
 * A checkpoint holds the caller's state after one LSN, in the log's own framing. It starts with a
 * segment header whose `previous` names the place in the log. Each chunk is one batch. A last batch
 * without records marks the checkpoint as complete. The log does not interpret the chunks.
 */
export interface CheckpointFacts {
  readonly logId: Uint8Array
  readonly epoch: number
  readonly clockMs: number
  /** How many opens of the log had been marked as started, as far as the writer of the checkpoint knows. */
  readonly starts: number
  /** Which shared log the log copies; 0 for a log of its own. */
  readonly era: number
  /** In which epoch of the shared log the last record was decided. */
  readonly sharedEpoch: number
  /** The end of the sealed segment whose last record is the last one in the state. */
  readonly at: SegmentEnd
}

/** Writes the checkpoint under a temporary name, reads it back, and then renames it. */
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
      era: facts.era,
      sharedEpoch: facts.sharedEpoch,
    })
    await writeFully(file, header.bytes, 0)
    const place = new Place(facts.logId, header.crc, 'checkpoint')
    let offset = fileHeaderBytes
    let number = 1
    let chain = header.crc
    let unsyncedBytes = 0
    const add = async (chunk: Uint8Array | undefined) => {
      const bodyBytes = chunk === undefined ? 0 : recordHeaderBytes + chunk.length
      offset = nextBatchOffset(offset)
      const buffer = new Uint8Array(extentOf(offset, bodyBytes).writtenBytes)
      if (chunk !== undefined) encodeRecord(buffer, batchHeaderBytes, chunk)
      const batch = {
        batch: number,
        firstLsn: number,
        count: chunk === undefined ? 0 : 1,
        chain,
        epoch: facts.epoch,
        clockMs: facts.clockMs,
        unsyncedBefore: 0,
        starts: facts.starts,
      }
      const sealed = sealBatch(buffer, bodyBytes, batch, place, offset)
      await writeFully(file, sealed.bytes, offset)
      chain = sealed.chain
      offset = sealed.end
      number++
      unsyncedBytes += sealed.bytes.length
      if (unsyncedBytes < syncEveryBytes) return
      // Piecewise, because one large sync would delay the syncs of the log.
      await file.sync()
      unsyncedBytes = 0
    }
    for await (const chunk of chunks) {
      if (!isBytes(chunk)) {
        throw new WalError('WAL_BAD_RECORD', 'a chunk of a checkpoint is not a Uint8Array')
      }
      if (chunk.length > recordBytesCeiling) {
        throw new WalError(
          'WAL_RECORD_TOO_LARGE',
          `a chunk of a checkpoint has ${chunk.length} bytes; the maximum is ${recordBytesCeiling}`,
        )
      }
      await add(chunk)
    }
    await add(undefined)
    await file.sync()
  })
}

const syncEveryBytes = 2 ** 20

/**
 * Reads the whole file and returns its header. Fails with `WAL_BAD_CHECKPOINT` if it is incomplete
 * or damaged.
 */
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

/** Reads the header only, which names the checkpoint's place in the log. */
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

/**
 * Yields the chunks in order and returns the header. Each chunk is a view that is valid until the
 * next step.
 */
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
          `it is incomplete at byte ${scanner.offset}: ${describeFinding(scanner.finding!)}`,
        )
      }
      if (batch.header.count === 0) break
      yield batch.body.subarray(recordHeaderBytes)
    }
    if (alignUp(scanner.end.offset, sectorBytes) !== fileBytes)
      throw badCheckpoint(name, 'it has bytes after its end')
    return header
  } finally {
    await file.close()
  }
}

/** Fails with `WAL_BAD_CHECKPOINT` if the checkpoint is of another log, or of a fork of this one. */
export function refuseForeignCheckpoint(
  { logId, previous: at }: FileHeader,
  segments: Iterable<{ readonly header: FileHeader }>,
): void {
  for (const { header } of segments) {
    const continues = header.previous.sequence === at.sequence && header.gap !== 'accepted-loss'
    if (!bytesEqual(logId, header.logId) || (continues && header.previous.chain !== at.chain)) {
      throw badCheckpoint(
        checkpointName(at.lastLsn),
        'it belongs to another log or to a fork of this one',
      )
    }
  }
}

/** Whether the error says that a checkpoint is damaged or of no use. */
export function isBadCheckpoint(error: unknown): error is WalError {
  return error instanceof WalError && error.code === 'WAL_BAD_CHECKPOINT'
}

function badCheckpoint(name: string, why: string): WalError {
  return new WalError('WAL_BAD_CHECKPOINT', `${name} cannot be used: ${why}`)
}
