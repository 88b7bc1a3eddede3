import { type Clock, systemClock } from '@tenure/seams'
import type { Disk } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { saysNoSpace, saysNotWritable, systemCode, WalError } from '../errors.js'
import { Layout } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import type { BadCheckpoint } from '../recover/examination.js'
import { listRoot } from '../recover/inventory.js'
import { checkCopy } from './copy-check.js'
import { type CopyProgress, type CopyWork, LogCopier, type Picture } from './copy-log.js'
import { Staging } from './staging.js'

export interface BackupOptions {
  readonly disk?: Disk
  readonly clock?: Clock
  readonly onProgress?: (progress: CopyProgress) => void
}

/** What a copy holds. */
export interface Backup {
  readonly logId: string
  readonly epoch: number
  /** The first and the last record; the last is below the first when there is none. */
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly segments: number
  readonly checkpoints: number
  /** Checkpoints of the original that cannot be used. They were left out. */
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** What it takes on the disk. */
  readonly bytes: number
}

/**
 * Copies the log to a directory that does not exist yet, while it may be written and truncated. It
 * takes no lock and changes nothing there. When it returns, the copy is durable, was read back from
 * end to end, and holds every record that was acknowledged before it was called.
 */
export function backupLog(
  directory: string,
  destination: string,
  options: BackupOptions = {},
): Promise<Backup> {
  return makeCopy(directory, destination, settleWork(options), {
    finish: async (_, copied) => copied,
  })
}

export function settleWork({
  disk = nodeDisk,
  clock = systemClock,
  onProgress = () => {},
}: BackupOptions): CopyWork {
  return { disk, clock, onProgress }
}

export interface CopySteps<T> {
  /** Looks at the original before anything is made. */
  readonly before?: (layout: Layout) => Promise<void>
  /** Works on the copy before it gets its name. */
  readonly finish: (layout: Layout, copied: Backup, picture: Picture) => Promise<T>
}

/** Copies, checks, and gives the copy its name; or leaves nothing. */
export async function makeCopy<T>(
  directory: string,
  destination: string,
  work: CopyWork,
  { before, finish }: CopySteps<T>,
): Promise<T> {
  const { disk } = work
  const from = new Layout(directory)
  let staging: Staging | undefined
  try {
    await listRoot(disk, from)
    await before?.(from)
    staging = await Staging.open(disk, from, destination)
    const picture = await new LogCopier(from, staging.layout, work).run()
    const found = await checkCopy(disk, from, staging.layout, picture)
    const { logId, epoch, firstLsn, lastLsn, segments, badCheckpoints } = found
    const checkpoints = found.goodCheckpoints.length
    const copied = { logId, epoch, firstLsn, lastLsn, segments, checkpoints, badCheckpoints }
    const result = await finish(staging.layout, { ...copied, bytes: picture.bytes }, picture)
    await staging.publish()
    return result
  } catch (error) {
    await staging?.discard()
    throw explain(error, destination)
  }
}

/** What the operating system says about the copy, in words of what to do about it. */
function explain(cause: unknown, destination: string): unknown {
  const code = systemCode(cause)
  if (cause instanceof WalError || code === undefined) return cause
  if (saysNoSpace(cause)) {
    const why = `the disk has no room for the copy ${destination}. Make room, or name another one.`
    return new WalError('WAL_NO_SPACE', why, { cause })
  }
  if (saysNotWritable(cause)) {
    const why = `${destination} cannot be made (${code}): ${(cause as Error).message}`
    return new WalError('WAL_READ_ONLY', why, { cause })
  }
  const why = `${destination} could not be made: ${(cause as Error).message}`
  return new WalError('WAL_COPY_FAILED', why, { cause })
}
