import type { DiskFile } from '../disk/disk.js'
import { readFully } from '../disk/files.js'
import { decodeBatchHeader, nextBatchOffset, Place } from '../format/batch.js'
import { fileHeaderBytes, sectorBytes } from '../format/limits.js'
import { Stamps } from '../format/stamps.js'
import type { Lsn } from '../lsn.js'

/**
 * The first LSN of a segment whose header is unreadable, if its first batch is intact. The batch's
 * stamp tells the checksum of the header, which the batch's own checksum covers.
 */
export async function firstLsnIn(file: DiskFile, logId: Uint8Array): Promise<Lsn | undefined> {
  const offset = nextBatchOffset(fileHeaderBytes)
  const sector = await readFully(file, new Uint8Array(sectorBytes), offset)
  const life = new Stamps(logId, 0).lifeOf(sector, offset)
  if (life === undefined) return undefined
  return decodeBatchHeader(sector, new Place(logId, life).crcAt(offset))?.firstLsn
}
