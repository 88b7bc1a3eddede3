import { dirname } from 'node:path'
import type { Disk } from '../disk/disk.js'
import { listIfPresent, readFully, removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { systemCode } from '../errors.js'
import { isZero } from '../format/bytes.js'
import { calmPieceBytes, hurriedPieceBytes, readWindowBytes } from '../format/limits.js'

/** A file of real zeros, which reserves its room on the disk; a sparse one would reserve nothing. */
export interface ZeroFile {
  readonly path: string
  readonly bytes: number
}

const zeros = new Uint8Array(hurriedPieceBytes)

/** The disk was asked, and nothing was begun. It carries the code of the refusal it has spared. */
export class NoRoom extends Error {
  readonly code = 'ENOSPC'
}

/**
 * Writes the file piece by piece, each durable before the next, because one large sync at the end
 * would hold up the commits beside it. `pieceAt` says how much to write next when so many bytes are
 * there; 0 gives up. What cannot fit is not begun: it would fill the disk for everybody else.
 */
export async function makeZeroFile(
  disk: Disk,
  { path, bytes }: ZeroFile,
  pieceAt: (filled: number) => number = () => calmPieceBytes,
): Promise<void> {
  await removeIfPresent(disk, path)
  if ((await roomOn(disk, dirname(path))) < bytes) throw new NoRoom(`no room for ${bytes} bytes`)
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

/** The room there seems to be. Where a disk does not tell, writing will. */
export function roomOn(disk: Disk, directory: string): Promise<number> {
  return disk.freeBytes(directory).catch(() => Number.POSITIVE_INFINITY)
}

/**
 * Takes over a file that an earlier epoch has left, by giving it this one's name, if it is large
 * enough and really holds nothing but zeros. Others of its kind are removed.
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

/** The file's size if it holds nothing but zeros, else 0: also when it cannot be read, for nothing is lost with it. */
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
