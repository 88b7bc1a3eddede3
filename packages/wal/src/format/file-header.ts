import { crc32 } from 'node:zlib'
import { WalError } from '../errors.js'
import type { Lsn } from '../lsn.js'
import { readUint64, viewOf, writeUint64 } from './bytes.js'
import { fileHeaderBytes } from './limits.js'

/**
 * The first sector of a segment or a checkpoint.
 *
 *     offset  bytes
 *          0      8  magic "TENURWAL" or "TENURCKP"
 *          8      4  CRC32 of bytes 12 to 511
 *         12      4  format version
 *         16     16  log id
 *         32      8  sequence: segments count 1, 2, 3 …; 0 in a checkpoint
 *         40      8  epoch: how many times the log had been opened, including this time
 *         48      8  LSN of the first record
 *         56      8  the writer's clock, milliseconds since the epoch
 *         64      8  size of the segment in bytes; 0 in a checkpoint
 *         72      8  number of the first batch
 *         80      8  previous segment: its sequence, 0 when there is none
 *         88      8  previous segment: the offset at which it ends
 *         96      8  previous segment: its last LSN
 *        104      4  previous segment: the CRC of its last header
 *        108      4  gap: 0 none, 1 a loss was accepted, 2 restored from a copy
 *        112      8  starts: how many opens had been marked as started before this file
 *        120      8  era of the shared log that this log copies; 0 in a log of its own
 *        128      8  epoch of the shared log in which the records were decided; 0 in a log of its own
 *        136    376  zero
 *
 * The CRC also names this life of the file; see `Stamps`. A segment's first sector is zero from the
 * time at which the file gets its name until the segment begins.
 *
 * The magic, the range of the CRC and the version keep their places in all later versions, so that an
 * old reader can tell a newer file from a damaged one.
 */
export interface FileHeader {
  readonly kind: 'segment' | 'checkpoint'
  readonly logId: Uint8Array
  readonly sequence: number
  readonly epoch: number
  readonly firstLsn: Lsn
  readonly clockMs: number
  readonly segmentBytes: number
  readonly firstBatch: number
  /** Where the log ended before this file. For a checkpoint: the place whose state it holds. */
  readonly previous: SegmentEnd
  readonly gap: GapReason
  /** How many opens of the log had been marked as started. */
  readonly starts: number
  /** Which shared log this log copies, beside the log id. 0 for a log of its own. */
  readonly era: number
  /** In which epoch of the shared log the records were decided. 0 for a log of its own. */
  readonly sharedEpoch: number
}

/** The end of a segment, as recorded in the next segment's header. */
export interface SegmentEnd {
  readonly sequence: number
  readonly offset: number
  readonly lastLsn: Lsn
  readonly chain: number
}

/** The place before the first segment. */
export const beginning: SegmentEnd = { sequence: 0, offset: 0, lastLsn: 0, chain: 0 }

export type GapReason = 'none' | 'accepted-loss' | 'restored'

export const formatVersion = 1
export const logIdBytes = 16

const magics = { segment: 'TENURWAL', checkpoint: 'TENURCKP' } as const
const gapReasons: readonly GapReason[] = ['none', 'accepted-loss', 'restored']

/** Encodes the sector. Its CRC is the chain value of the first batch. */
export function encodeFileHeader(header: FileHeader): { bytes: Uint8Array; crc: number } {
  const bytes = new Uint8Array(fileHeaderBytes)
  const view = viewOf(bytes)
  bytes.set(Buffer.from(magics[header.kind], 'latin1'), 0)
  view.setUint32(12, formatVersion, true)
  bytes.set(header.logId, 16)
  writeUint64(view, 32, header.sequence)
  writeUint64(view, 40, header.epoch)
  writeUint64(view, 48, header.firstLsn)
  writeUint64(view, 56, header.clockMs)
  writeUint64(view, 64, header.segmentBytes)
  writeUint64(view, 72, header.firstBatch)
  writeUint64(view, 80, header.previous.sequence)
  writeUint64(view, 88, header.previous.offset)
  writeUint64(view, 96, header.previous.lastLsn)
  view.setUint32(104, header.previous.chain, true)
  view.setUint32(108, gapReasons.indexOf(header.gap), true)
  writeUint64(view, 112, header.starts)
  writeUint64(view, 120, header.era)
  writeUint64(view, 128, header.sharedEpoch)
  const crc = crc32(bytes.subarray(12))
  view.setUint32(8, crc, true)
  return { bytes, crc }
}

/** Offsets of the 64-bit numbers. */
const numberOffsets = [32, 40, 48, 56, 64, 72, 80, 88, 96, 112, 120, 128]

export interface DecodedFileHeader extends FileHeader {
  readonly crc: number
}

/** The header, or the reason why the bytes are not one. Throws for a newer format version. */
export function decodeFileHeader(
  bytes: Uint8Array,
  kind: FileHeader['kind'],
  file: string,
): DecodedFileHeader | string {
  if (bytes.length < fileHeaderBytes)
    return `it ends inside its header, after ${bytes.length} bytes`
  const view = viewOf(bytes)
  const magic = Buffer.from(bytes.subarray(0, 8)).toString('latin1')
  if (magic !== magics[kind]) return `it does not start with the magic of a ${kind}`
  const crc = view.getUint32(8, true)
  if (crc32(bytes.subarray(12, fileHeaderBytes)) !== crc) return 'its header fails its checksum'
  const version = view.getUint32(12, true)
  if (version > formatVersion) {
    throw new WalError(
      'WAL_NEWER_FORMAT',
      `${file} has format version ${version}; this release reads up to version ${formatVersion}`,
      { remedy: 'Open the log with the release that wrote it, or a newer one' },
    )
  }
  const gap = gapReasons[view.getUint32(108, true)]
  const numbers = numberOffsets.map((at) => readUint64(view, at))
  if (version < 1 || gap === undefined || !numbers.every(Number.isSafeInteger)) {
    return 'its header contains values that no release writes'
  }
  return {
    kind,
    crc,
    logId: bytes.slice(16, 32),
    sequence: readUint64(view, 32),
    epoch: readUint64(view, 40),
    firstLsn: readUint64(view, 48),
    clockMs: readUint64(view, 56),
    segmentBytes: readUint64(view, 64),
    firstBatch: readUint64(view, 72),
    previous: {
      sequence: readUint64(view, 80),
      offset: readUint64(view, 88),
      lastLsn: readUint64(view, 96),
      chain: view.getUint32(104, true),
    },
    gap,
    starts: readUint64(view, 112),
    era: readUint64(view, 120),
    sharedEpoch: readUint64(view, 128),
  }
}
