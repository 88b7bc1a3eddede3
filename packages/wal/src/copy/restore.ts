import type { Disk } from '../disk/disk.js'
import { listIfPresent } from '../disk/files.js'
import { saysNotWritable, WalDamageError, WalError } from '../errors.js'
import { type Layout, segmentPath } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import { resolveOptions } from '../options.js'
import { prepareLog } from '../recover/prepare-log.js'
import { type Backup, type BackupOptions, makeCopy, resolveWork } from './backup.js'
import type { CopyContents } from './copy-log.js'

export interface RestoreOptions extends BackupOptions {
  /**
   * The first LSN that the restored log issues. By default it is computed from the clock and lies
   * after every LSN that can have been issued.
   */
  readonly nextLsn?: Lsn | undefined
}

export interface Restored extends Backup {
  /**
   * The first LSN that the restored log issues. The LSNs between `lastLsn` and this one are a
   * declared gap.
   */
  readonly nextLsn: Lsn
}

/**
 * Restores a backup to a directory that does not exist yet. The copy is opened once with a declared
 * gap before it gets its name. So even after a crash, no copy under that name can reissue LSNs that
 * the original, or another restore of the same backup, has issued.
 */
export async function restoreLog(
  backup: string,
  directory: string,
  { nextLsn, ...options }: RestoreOptions = {},
): Promise<Restored> {
  const work = resolveWork(options)
  const { disk, clock } = work
  const settings = resolveOptions({
    disk,
    clock,
    restored: nextLsn === undefined ? true : { nextLsn },
  })
  return makeCopy(backup, directory, work, {
    before: (layout) => refuseInUse(disk, layout),
    async finish(layout, copied, contents) {
      refuseTorn(contents)
      // A backup of a copy of a shared log becomes a log of its own.
      const isCopy = contents.segments.at(-1)?.header.era !== 0
      const change = isCopy ? 'detach' : undefined
      const { segment, headFile } = await prepareLog(layout, settings, change)
      await segment.file.close()
      await headFile.close()
      const { epoch, firstLsn } = segment.header
      return { ...copied, epoch, nextLsn: firstLsn }
    },
  })
}

/**
 * A backup ends with its last batch, followed by zeros. A torn tail means that the backup was
 * changed later. In a log without syncs such a change looks like a write that never returned.
 */
function refuseTorn({ segments, end, tornTail: why }: CopyContents): void {
  if (why === undefined) return
  const { name } = segments.at(-1)!
  const place = { file: segmentPath(name), offset: end.offset, firstMissingLsn: end.lastLsn + 1 }
  throw new WalDamageError({
    kind: 'ambiguous',
    ...place,
    why: `${why}, which a backup never contains`,
  })
}

/** Rejects a log that is open for writing: the restored log would be a second copy of a running one. */
async function refuseInUse(disk: Disk, { root, lock }: Layout): Promise<void> {
  const names = await listIfPresent(disk, root)
  if (!names.includes('LOCK')) return
  try {
    const attempt = await disk.lock(lock, `process ${process.pid}`)
    if (attempt.granted) {
      await attempt.release()
      return
    }
    throw new WalError(
      'WAL_LOCKED',
      `${root} is in use by ${attempt.holder || 'another process'}: it is a running log, not a backup`,
      { remedy: 'Make a backup of it, and restore that' },
    )
  } catch (error) {
    // A directory that is not writable has no writer.
    if (!saysNotWritable(error)) throw error
  }
}
