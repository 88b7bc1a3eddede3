import type { Disk, DiskFile, OpenMode } from '../disk/disk.js'
import { writeFully } from '../disk/files.js'
import { encodeFileHeader, type FileHeader, type SegmentEnd } from '../format/file-header.js'
import type { HeadFile } from '../format/head.js'
import { type Layout, segmentName, temporarySuffix } from '../format/layout.js'

/** The segment that receives the records. */
export interface SegmentFile {
  readonly name: string
  readonly header: FileHeader
  readonly headerCrc: number
  readonly file: DiskFile
}

/**
 * Turns a file of zeros into the log's newest segment: header, name, and `HEAD`, each durable
 * before the next. A crash leaves either the old newest segment and an empty file that is not
 * referenced, or the new one.
 */
export async function beginSegment(
  disk: Disk,
  layout: Layout,
  headFile: HeadFile,
  zeroFile: string,
  header: FileHeader,
  mode: OpenMode,
): Promise<SegmentFile> {
  const name = segmentName(header.firstLsn, header.epoch)
  const path = layout.segment(name)
  const temporary = path + temporarySuffix
  const { bytes, crc } = encodeFileHeader(header)
  // Rename it first, so that another writer cannot take the same file.
  if (zeroFile !== temporary) await disk.rename(zeroFile, temporary)
  const file = await disk.open(temporary, mode)
  try {
    await writeFully(file, bytes, 0)
    if (mode !== 'durable') await file.sync()
    await disk.rename(temporary, path)
    await disk.syncDirectory(layout.segments)
    await headFile.write(header)
  } catch (error) {
    await file.close()
    throw error
  }
  return { name, header, headerCrc: crc, file }
}

/** A segment that receives no more records. */
export interface SealedSegment {
  readonly name: string
  readonly header: FileHeader
  readonly end: SegmentEnd
}
