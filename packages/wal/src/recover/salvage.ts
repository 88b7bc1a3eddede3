import type { DiskFile } from '../disk/disk.js'
import { readFully } from '../disk/files.js'
import { systemCode } from '../errors.js'
import { sectorBytes } from '../format/limits.js'

/** Reads the range, with zeros for unreadable sectors. */
export async function salvage(
  file: DiskFile,
  length: number,
  position: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  const read = async (from: number, to: number) => {
    try {
      await readFully(file, bytes.subarray(from, to), position + from)
      return true
    } catch (error) {
      if (systemCode(error) !== 'EIO') throw error
      bytes.fill(0, from, to)
      return false
    }
  }
  if (await read(0, length)) return bytes
  for (let at = 0; at < length; at += sectorBytes)
    await read(at, Math.min(length, at + sectorBytes))
  return bytes
}
