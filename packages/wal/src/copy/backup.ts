import { type Clock, systemClock } from '@tenure/seams'
import type { Disk } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { saysNoSpace, saysNotWritable, systemCode, WalError } from '../errors.js'
import { Layout } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import type { BadCheckpoint } from '../recover/examination.js'
import { listRoot } from '../recover/inventory.js'
import { checkCopy } from './copy-check.js'
import { type CopyContents, type CopyProgress, type CopyWork, LogCopier } from './copy-log.js'
import { Staging } from './staging.js'

export interface BackupOptions {
  readonly disk?: Disk
  readonly clock?: Clock
  readonly onProgress?: (progress: CopyProgress) => void
}

/** The content of a copy. */
export interface Backup {
  readonly logId: string
  readonly epoch: number
  /** The first and the last record. `lastLsn` is below `firstLsn` when there are no records. */
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly segments: number
  readonly checkpoints: number
  /** Unusable checkpoints of the original. The copy does not contain them. */
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** Size of the copy on the disk. */
  readonly bytes: number
}

/**
 * Copies the log to a directory that does not exist yet. A writer may append and truncate during
 * the copy. Takes no lock on the source and does not change it. When the promise resolves, the copy
 * is durable, has been read back from end to end, and holds every record that was acknowledged
 * before the call.
 */
export function backupLog(
  directory: string,
  destination: string,
  options: BackupOptions = {},
): Promise<Backup> {
  return makeCopy(directory, destination, resolveWork(options), {
    finish: async (_, copied) => copied,
  })
}

export function resolveWork({
  disk = nodeDisk,
  clock = systemClock,
  onProgress = () => {},
}: BackupOptions): CopyWork {
  return { disk, clock, onProgress }
}

export interface CopySteps<T> {
  /** Checks the original before anything is created. */
  readonly before?: (layout: Layout) => Promise<void>
  /** Changes the copy before it gets its name. */
  readonly finish: (layout: Layout, copied: Backup, contents: CopyContents) => Promise<T>
}

/** Copies, verifies, and renames the copy to its destination. Removes everything on failure. */
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
    staging = await Staging.open(disk, destination, from)
    const contents = await new LogCopier(from, staging.layout, work).run()
    const found = await checkCopy(disk, from, staging.layout, contents)
    const { logId, epoch, firstLsn, lastLsn, segments, badCheckpoints } = found
    const checkpoints = found.goodCheckpoints.length
    const copied = { logId, epoch, firstLsn, lastLsn, segments, checkpoints, badCheckpoints }
    const result = await finish(staging.layout, { ...copied, bytes: contents.bytes }, contents)
    await staging.publish()
    return result
  } catch (error) {
    await staging?.discard()
    throw explain(error, destination)
  }
}

/** Translates an error of the operating system into an error that says what to do. */
function explain(cause: unknown, destination: string): unknown {
  const code = systemCode(cause)
  if (cause instanceof WalError || code === undefined) return cause
  if (saysNoSpace(cause)) {
    return new WalError('WAL_NO_SPACE', `the disk has no space for the copy ${destination}`, {
      remedy: 'Free some space, or choose another destination',
      cause,
    })
  }
  if (saysNotWritable(cause)) {
    const why = `${destination} is not writable (${code}): ${(cause as Error).message}`
    return new WalError('WAL_READ_ONLY', why, {
      remedy: 'Make it writable for this user, or choose another destination',
      cause,
    })
  }
  const why = `${destination} could not be written: ${(cause as Error).message}`
  return new WalError('WAL_COPY_FAILED', why, {
    remedy: 'Check its disk, or choose another destination',
    cause,
  })
}
