import type { Disk, DiskFile, OpenMode } from '../disk/disk.js'
import { writeFully } from '../disk/files.js'
import { encodeFileHeader, type FileHeader, type SegmentEnd } from '../format/file-header.js'
import type { HeadFile } from '../format/head.js'
import { type Layout, segmentName, temporarySuffix } from '../format/layout.js'
import { fileHeaderBytes } from '../format/limits.js'

/** A file of the log's directory whose space on the disk is reserved, because all of it was written. */
export interface ReservedFile {
  readonly path: string
  readonly bytes: number
}

/** A segment's file before the segment begins. Its header is zeros. */
export interface PreparedFile {
  readonly name: string
  readonly bytes: number
  readonly file: DiskFile
}

/** The segment that receives the records. */
export interface SegmentFile {
  readonly name: string
  readonly header: FileHeader
  readonly headerCrc: number
  readonly file: DiskFile
}

/** A segment that receives no more records. */
export interface SealedSegment {
  readonly name: string
  readonly header: FileHeader
  readonly end: SegmentEnd
}

/**
 * Gives a file the name of a coming segment, so that the segment can begin with two writes. Clears
 * the header first, because the file may have been another segment before. When the name and the
 * cleared header are durable, a crash leaves a file that belongs to no segment.
 */
export async function prepareSegmentFile(
  disk: Disk,
  layout: Layout,
  reserved: ReservedFile,
  { sequence, epoch }: Pick<FileHeader, 'sequence' | 'epoch'>,
  mode: OpenMode,
): Promise<PreparedFile> {
  const name = segmentName(sequence, epoch)
  const path = layout.segment(name)
  const temporary = path + temporarySuffix
  // Rename it first, so that another writer cannot take the same file.
  if (reserved.path !== temporary) await disk.rename(reserved.path, temporary)
  const file = await disk.open(temporary, mode)
  try {
    await writeFully(file, new Uint8Array(fileHeaderBytes), 0)
    if (mode !== 'durable') await file.sync()
    await disk.rename(temporary, path)
    await disk.syncDirectory(layout.segments)
  } catch (error) {
    await file.close()
    throw error
  }
  return { name, bytes: reserved.bytes, file }
}

/**
 * Begins the log's newest segment: its header, and then `HEAD`. Each is durable before the next. A
 * crash leaves the old newest segment and a file without records, or the new segment.
 */
export async function beginSegment(
  { name, file }: PreparedFile,
  header: FileHeader,
  headFile: HeadFile,
  mode: OpenMode,
): Promise<SegmentFile> {
  const { bytes, crc } = encodeFileHeader(header)
  await writeFully(file, bytes, 0)
  if (mode !== 'durable') await file.sync()
  await headFile.write(header)
  return { name, header, headerCrc: crc, file }
}
