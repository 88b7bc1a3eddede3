import { systemCode } from '../errors.js'
import type { Disk, DiskFile, OpenMode } from './disk.js'

/** Opens the file, passes it to `use`, and closes it in any case. */
export async function withFile<T>(
  disk: Disk,
  path: string,
  mode: OpenMode,
  use: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await disk.open(path, mode)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

/** Reads from `position` until `into` is full or the file ends. Returns the filled part. */
export async function readFully(
  file: DiskFile,
  into: Uint8Array,
  position: number,
): Promise<Uint8Array> {
  let length = 0
  while (length < into.length) {
    const count = await file.read(into.subarray(length), position + length)
    if (count === 0) break
    length += count
  }
  return into.subarray(0, length)
}

/** Writes all bytes, in several writes if necessary. */
export async function writeFully(
  file: DiskFile,
  bytes: Uint8Array,
  position: number,
): Promise<void> {
  let length = 0
  while (length < bytes.length) {
    const count = await file.write(bytes.subarray(length), position + length)
    if (count === 0) throw new Error(`the disk accepted only ${length} of ${bytes.length} bytes`)
    length += count
  }
}

export function sizeOfFile(disk: Disk, path: string): Promise<number> {
  return withFile(disk, path, 'read', (file) => file.size())
}

export async function removeIfPresent(disk: Disk, path: string): Promise<void> {
  try {
    await disk.remove(path)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
  }
}

/** The names in the directory, or an empty list if it does not exist. */
export async function listIfPresent(disk: Disk, path: string): Promise<string[]> {
  try {
    return await disk.list(path)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

/** The file's bytes, or `undefined` if it does not exist. For small files. */
export async function readIfPresent(disk: Disk, path: string): Promise<Uint8Array | undefined> {
  try {
    return await withFile(disk, path, 'read', async (file) =>
      readFully(file, new Uint8Array(await file.size()), 0),
    )
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Like `writeFully`, but blocks the event loop. */
export function writeFullyOnLoop(file: DiskFile, bytes: Uint8Array, position: number): void {
  let length = 0
  while (length < bytes.length) {
    const count = file.writeOnLoop(bytes.subarray(length), position + length)
    if (count === 0) throw new Error(`the disk accepted only ${length} of ${bytes.length} bytes`)
    length += count
  }
}
