import { dirname } from 'node:path'
import type { Disk } from '../disk/disk.js'
import { removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { calmPieceBytes, hurriedPieceBytes } from '../format/limits.js'
import type { ReservedFile } from './segment-file.js'

const zeros = new Uint8Array(hurriedPieceBytes)

/**
 * The disk reported too little free space, so nothing was written. Carries the error code that a
 * write would have had.
 */
export class NoSpace extends Error {
  readonly code = 'ENOSPC'
}

/**
 * Makes a file of written zeros, which reserves its space on the disk. A sparse file would not.
 * Writes it piece by piece and syncs each piece, because one large sync would delay commits
 * on the same disk. `pieceAt` returns the size of the next piece for a given length; 0 aborts. A
 * file that cannot fit is not started, because it would fill the disk for other processes.
 */
export async function makeZeroFile(
  disk: Disk,
  { path, bytes }: ReservedFile,
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
