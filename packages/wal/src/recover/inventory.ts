import { join } from 'node:path'
import {
  isBadCheckpoint,
  readCheckpointHeader,
  refuseForeignCheckpoint,
  verifyCheckpoint,
} from '../checkpoint/checkpoint.js'
import type { Disk } from '../disk/disk.js'
import { listIfPresent, readFully, withFile } from '../disk/files.js'
import { systemCode, WalError } from '../errors.js'
import { bytesEqual, isZero } from '../format/bytes.js'
import { type DecodedFileHeader, decodeFileHeader } from '../format/file-header.js'
import { type Head, readHead } from '../format/head.js'
import {
  isRootName,
  type Layout,
  lsnOfCheckpointName,
  parseSegmentName,
  segmentName,
  temporarySuffix,
} from '../format/layout.js'

import { fileHeaderBytes } from '../format/limits.js'
import type { Lsn } from '../lsn.js'
import { firstLsnIn } from '../scan/first-batch.js'
import type { BadCheckpoint, Depth } from './examination.js'
import type { Found, Prepared, Unreadable } from './lineage.js'

/** The files of a log's directory, by name and header. */
export interface Inventory {
  readonly logId: Uint8Array | undefined
  /** The content of `HEAD`. */
  readonly head: Head | string | undefined
  /** Segments of this log, ordered by sequence. */
  readonly found: readonly Found[]
  readonly unreadable: readonly Unreadable[]
  /** Files of segments that have not begun: their header is zeros. */
  readonly prepared: readonly Prepared[]
  /** Newest first. For a recovery, only the newest. */
  readonly goodCheckpoints: readonly DecodedFileHeader[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** Paths of temporary files. */
  readonly leftovers: readonly string[]
}

/** Reads names and headers. `depth` decides how much of the checkpoints is read. */
export async function takeInventory(disk: Disk, layout: Layout, depth: Depth): Promise<Inventory> {
  await listRoot(disk, layout)
  const head = await readHead(disk, layout)
  const inQuarantine = await listIfPresent(disk, layout.quarantine)
  const segments = await listIfPresent(disk, layout.segments)
  const { headers, unreadable, prepared } = await readHeaders(disk, layout, segments)
  const logId =
    typeof head === 'string' ? headers[0]?.header.logId : (head?.logId ?? headers[0]?.header.logId)
  const found: Found[] = []
  for (const segment of headers) {
    const { name, header } = segment
    if (logId === undefined || bytesEqual(header.logId, logId)) found.push(segment)
    else {
      const { sequence, epoch } = header
      unreadable.push({ name, sequence, epoch, why: 'it belongs to another log' })
    }
  }
  if (logId !== undefined) {
    for (const [index, segment] of unreadable.entries()) {
      unreadable[index] = { ...segment, firstLsn: await findFirstLsn(disk, layout, segment, logId) }
    }
  }
  const checkpoints = await listIfPresent(disk, layout.checkpoints)
  const lsns = checkpoints.map(lsnOfCheckpointName).filter((lsn) => lsn !== undefined)
  const { good, bad } = await readCheckpoints(disk, layout, depth, lsns, found)
  const leftovers = [
    ...inQuarantine.map((name) => join(layout.quarantine, name)),
    ...segments.sort().map((name) => layout.segment(name)),
    ...checkpoints.map((name) => join(layout.checkpoints, name)),
  ].filter((path) => path.endsWith(temporarySuffix))
  return {
    logId,
    head,
    found,
    unreadable,
    prepared,
    goodCheckpoints: good,
    badCheckpoints: bad,
    leftovers,
  }
}

async function readHeaders(
  disk: Disk,
  layout: Layout,
  names: readonly string[],
): Promise<{
  readonly headers: Found[]
  readonly unreadable: Unreadable[]
  readonly prepared: Prepared[]
}> {
  const headers: Found[] = []
  const unreadable: Unreadable[] = []
  const prepared: Prepared[] = []
  for (const name of names.toSorted()) {
    const named = parseSegmentName(name)
    if (named === undefined) continue
    const segment = await readHeader(disk, layout, name)
    if (segment === 'prepared') prepared.push({ name, ...named })
    else if ('why' in segment) unreadable.push({ name, ...named, ...segment })
    else headers.push(segment)
  }
  headers.sort((a, b) => a.header.sequence - b.header.sequence || a.header.epoch - b.header.epoch)
  return { headers, unreadable, prepared }
}

async function readHeader(
  disk: Disk,
  layout: Layout,
  name: string,
): Promise<Found | 'prepared' | { readonly why: string }> {
  try {
    return await withFile(disk, layout.segment(name), 'read', async (file) => {
      const fileBytes = await file.size()
      const sector = await readFully(file, new Uint8Array(fileHeaderBytes), 0)
      if (isZero(sector)) return 'prepared'
      const header = decodeFileHeader(sector, 'segment', name)
      if (typeof header === 'string') return { why: header }
      const expected = segmentName(header.sequence, header.epoch)
      if (expected === name) return { name, header, fileBytes }
      return { why: `its header does not match its name; the name should be ${expected}` }
    })
  } catch (error) {
    // A writer may have removed the file since it was listed. The caller retries.
    const code = systemCode(error)
    if (error instanceof WalError || code === undefined || code === 'ENOENT') throw error
    return { why: `it cannot be read: ${code}` }
  }
}

async function findFirstLsn(
  disk: Disk,
  layout: Layout,
  { name }: Unreadable,
  logId: Uint8Array,
): Promise<Lsn | undefined> {
  try {
    const path = layout.segment(name)
    return await withFile(disk, path, 'read', (file) => firstLsnIn(file, logId))
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === undefined) throw error
    return undefined
  }
}

/** Newest first. Recovery needs one good checkpoint; verification and truncation need all of them. */
async function readCheckpoints(
  disk: Disk,
  layout: Layout,
  depth: Depth,
  lsns: readonly number[],
  found: readonly Found[],
): Promise<{ readonly good: DecodedFileHeader[]; readonly bad: BadCheckpoint[] }> {
  const good: DecodedFileHeader[] = []
  const bad: BadCheckpoint[] = []
  const look = depth === 'names' ? readCheckpointHeader : verifyCheckpoint
  for (const lsn of lsns.toSorted((a, b) => b - a)) {
    try {
      const checkpoint = await look(disk, layout.checkpoint(lsn), lsn)
      refuseForeignCheckpoint(checkpoint, found)
      good.push(checkpoint)
      if (depth === 'recovery') break
    } catch (error) {
      if (!isBadCheckpoint(error)) throw error
      bad.push({ lsn, why: error.message })
    }
  }
  return { good, bad }
}

const remedy =
  'Choose a directory that contains a log; a new log needs one that is empty or does not exist'

/**
 * The names in the log's directory, or an empty list if it does not exist. Rejects a directory with
 * other content.
 */
export async function listRoot(disk: Disk, layout: Layout): Promise<string[]> {
  let entries: string[]
  try {
    entries = await listIfPresent(disk, layout.root)
  } catch (error) {
    if (systemCode(error) !== 'ENOTDIR') throw error
    throw new WalError('WAL_NOT_A_LOG', `${layout.root} is not a directory`, { remedy })
  }
  const foreign = entries.filter((name) => !isRootName(name)).sort()[0]
  const isLog = entries.some((name) => name === 'HEAD' || name === 'wal')
  if (foreign === undefined || isLog) return entries
  throw new WalError(
    'WAL_NOT_A_LOG',
    `${layout.root} is not a log: it has no HEAD but contains "${foreign}"`,
    { remedy },
  )
}
