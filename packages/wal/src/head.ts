import { dirname } from 'node:path'
import { crc32 } from 'node:zlib'
import { readUint64, viewOf, writeUint64 } from './bytes.js'
import type { Disk } from './disk.js'
import { WalError } from './errors.js'
import { formatVersion, logIdBytes } from './file-header.js'
import { removeIfPresent, withFile, writeFully } from './files.js'
import type { Layout } from './layout.js'

/**
 * `HEAD` names the newest segment, so that its loss is noticed. Replaced whole at every roll.
 *
 *     offset  bytes
 *          0      8  magic "TENURHED"
 *          8      4  CRC32 of bytes 12 to 47
 *         12      4  format version
 *         16     16  log id
 *         32      8  sequence of the newest segment
 *         40      8  epoch of its writer
 */
export interface Head {
  readonly logId: Uint8Array
  readonly sequence: number
  readonly epoch: number
}

export const headBytes = 48
const magic = 'TENURHED'

export function encodeHead(head: Head): Uint8Array {
  const bytes = new Uint8Array(headBytes)
  const view = viewOf(bytes)
  bytes.set(Buffer.from(magic, 'latin1'), 0)
  view.setUint32(12, formatVersion, true)
  bytes.set(head.logId, 16)
  writeUint64(view, 32, head.sequence)
  writeUint64(view, 40, head.epoch)
  view.setUint32(8, crc32(bytes.subarray(12)), true)
  return bytes
}

/** The head, or in words why these bytes are none. */
export function decodeHead(bytes: Uint8Array): Head | string {
  if (bytes.length !== headBytes) return `it has ${bytes.length} bytes instead of ${headBytes}`
  if (Buffer.from(bytes.subarray(0, 8)).toString('latin1') !== magic)
    return 'it is no head of a log'
  const view = viewOf(bytes)
  if (crc32(bytes.subarray(12)) !== view.getUint32(8, true)) return 'it fails its checksum'
  const version = view.getUint32(12, true)
  if (version > formatVersion) {
    throw new WalError(
      'WAL_NEWER_FORMAT',
      `HEAD has format version ${version}; this is version ${formatVersion} of the log. ` +
        'Open it with the newer version that wrote it.',
    )
  }
  return {
    logId: bytes.slice(16, 16 + logIdBytes),
    sequence: readUint64(view, 32),
    epoch: readUint64(view, 40),
  }
}

/** Sets room aside for the next `HEAD`, so that a roll needs none. */
export async function reserveHead(disk: Disk, layout: Layout, epoch: number): Promise<void> {
  const path = layout.nextHead(epoch)
  await removeIfPresent(disk, path)
  await withFile(disk, path, 'create', async (file) => {
    await writeFully(file, new Uint8Array(headBytes), 0)
    await file.sync()
  })
}

/** Puts the new `HEAD` in the old one's place, in one step, and returns when that is durable. */
export async function replaceHead(disk: Disk, layout: Layout, head: Head): Promise<void> {
  const next = layout.nextHead(head.epoch)
  await withFile(disk, next, 'durable', (file) => writeFully(file, encodeHead(head), 0))
  await disk.rename(next, layout.head)
  await disk.syncDirectory(dirname(layout.head))
}
