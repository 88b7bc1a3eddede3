import type { DiskFile } from '../disk/disk.js'
import { readFully } from '../disk/files.js'
import type { DecodedFileHeader } from '../format/file-header.js'
import { fileHeaderBytes } from '../format/limits.js'

/**
 * A truncation removed the segment while its file was open, and the writer used the file again. To a
 * reader, the segment no longer exists.
 */
export class SegmentReused extends Error {
  readonly code = 'ENOENT'
}

/**
 * Fails if the file no longer contains this segment. The writer clears a file's header before it
 * changes anything else there, so what was read before a successful check is the segment's content.
 */
export async function refuseReused(
  file: DiskFile,
  name: string,
  header: DecodedFileHeader,
): Promise<void> {
  const sector = await readFully(file, new Uint8Array(fileHeaderBytes), 0).catch(() => undefined)
  // A file that cannot be read is damaged, not used again.
  if (sector === undefined || sector.length < fileHeaderBytes) return
  const crc = new DataView(sector.buffer).getUint32(8, true)
  if (crc !== header.crc) throw new SegmentReused(`${name} was removed while it was read`)
}
