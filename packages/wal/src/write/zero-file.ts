import { dirname } from 'node:path'
import type { Disk } from '../disk/disk.js'
import { listIfPresent, readFully, removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { systemCode } from '../errors.js'
import { isZero } from '../format/bytes.js'
import { calmPieceBytes, hurriedPieceBytes, readWindowBytes } from '../format/limits.js'

/** A file of written zeros, which reserves its space on the disk. A sparse file would not. */
export interface ZeroFile {
  readonly path: string
  readonly bytes: number
}

const zeros = new Uint8Array(hurriedPieceBytes)

/**
 * The disk reported too little free space, so nothing was written. Carries the error code that a
 * write would have had.
 */
export class NoSpace extends Error {
  readonly code = 'ENOSPC'
}

/**
 * Writes the file piece by piece and syncs each piece, because one large sync would delay commits
 * on the same disk. `pieceAt` returns the size of the next piece for a given length; 0 aborts. A
 * file that cannot fit is not started, because it would fill the disk for other processes.
 */
export async function makeZeroFile(
  disk: Disk,
  { path, bytes }: ZeroFile,
  pieceAt: (filled: number) => number = () => calmPieceBytes,
): Promise<void> {
  await removeIfPresent(disk, path)
  if ((await freeSpaceOn(disk, dirname(path))) < bytes)
    throw new NoSpace(`no space for ${bytes} bytes`)
  await withFile(disk, path, 'create', async () => {})
  await withFile(disk, path, 'durable', async (file) => {
    let filled = 0
    while (filled < bytes) {
      const piece = zeros.subarray(0, Math.min(pieceAt(filled), bytes - filled))
      if (piece.length === 0) return
      await writeFully(file, piece, filled)
      filled += piece.length
    }
    await file.sync()
  })
}

/** Free space on the disk, or infinity if the disk does not report it. Then a write shows it. */
export function freeSpaceOn(disk: Disk, directory: string): Promise<number> {
  return disk.freeBytes(directory).catch(() => Number.POSITIVE_INFINITY)
}

/**
 * Takes over a file of an earlier epoch by renaming it, if it is large enough and contains only
 * zeros. Removes others of its kind.
 */
export async function adoptZeroFile(
  disk: Disk,
  directory: string,
  isOfKind: (name: string) => boolean,
  { path, bytes: bytesMin }: ZeroFile,
): Promise<ZeroFile | undefined> {
  let found: ZeroFile | undefined
  for (const name of (await listIfPresent(disk, directory)).filter(isOfKind)) {
    const one = `${directory}/${name}`
    const bytes = found === undefined ? await countZeros(disk, one) : 0
    if (bytes >= bytesMin) found = { path: one, bytes }
    else await disk.remove(one)
  }
  if (found === undefined) return undefined
  await disk.rename(found.path, path)
  return { path, bytes: found.bytes }
}

/**
 * The file's size if it contains only zeros, otherwise 0. An unreadable file counts as 0, because
 * nothing is lost with it.
 */
async function countZeros(disk: Disk, path: string): Promise<number> {
  try {
    return await withFile(disk, path, 'read', async (file) => {
      const size = await file.size()
      const window = new Uint8Array(Math.min(size, readWindowBytes))
      for (let at = 0; at < size; at += window.length) {
        const bytes = await readFully(file, window, at)
        if (bytes.length < Math.min(window.length, size - at) || !isZero(bytes)) return 0
      }
      return size
    })
  } catch (error) {
    if (systemCode(error) !== 'EIO') throw error
    return 0
  }
}
