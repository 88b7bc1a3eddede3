import type { Disk, DiskFile } from '../disk/disk.js'
import { readFully, withFile, writeFully } from '../disk/files.js'
import { systemCode, WalError } from '../errors.js'
import { isZero } from '../format/bytes.js'
import { copyPieceBytes, readWindowBytes } from '../format/limits.js'

export interface CopyRange {
  /** How many bytes to copy. The rest of the copy, up to the file's size, is zeros. */
  readonly end?: number
  /** Called for each piece with its size in the file. */
  readonly onBytes: (bytes: number) => void
}

/**
 * Copies a file that does not change before `end`. Zeros become holes, because a copy takes no
 * records and needs no reserved space. Syncs piece by piece, because one large sync would delay
 * commits on the same disk. Returns the number of bytes written.
 */
export async function copyFile(
  disk: Disk,
  from: DiskFile,
  to: string,
  { end, onBytes }: CopyRange,
): Promise<number> {
  const size = await from.size()
  const contentEnd = Math.min(end ?? size, size)
  const window = new Uint8Array(Math.min(contentEnd, readWindowBytes))
  return withFile(disk, to, 'create', async (file) => {
    let written = 0
    let unsynced = 0
    let reached = 0
    for (let at = 0; at < contentEnd; at += window.length) {
      const wanted = window.subarray(0, Math.min(window.length, contentEnd - at))
      const bytes = await readAll(from, wanted, at)
      if (!isZero(bytes)) {
        await writeFully(file, bytes, at)
        written += bytes.length
        unsynced += bytes.length
        reached = at + bytes.length
      }
      onBytes(bytes.length)
      if (unsynced < copyPieceBytes) continue
      await file.sync()
      unsynced = 0
    }
    if (reached < size) await writeFully(file, new Uint8Array(1), size - 1)
    await file.sync()
    onBytes(size - contentEnd)
    return written
  })
}

async function readAll(from: DiskFile, into: Uint8Array, at: number): Promise<Uint8Array> {
  try {
    const bytes = await readFully(from, into, at)
    if (bytes.length === into.length) return bytes
    throw new WalError(
      'WAL_COPY_FAILED',
      `the source file ended at byte ${at + bytes.length} instead of byte ${at + into.length} or later`,
      {
        remedy: 'Make sure that nothing else changes the source, and copy again',
      },
    )
  } catch (cause) {
    const code = systemCode(cause)
    if (cause instanceof WalError || code === undefined) throw cause
    const why = `the source file cannot be read at byte ${at}: ${code}`
    throw new WalError('WAL_COPY_FAILED', why, {
      remedy: 'Check the disk of the source, then copy again',
      cause,
    })
  }
}
