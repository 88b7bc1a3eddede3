import type { Disk } from '../disk/disk.js'
import { listIfPresent } from '../disk/files.js'
import { saysNotWritable, WalDamageError, WalError } from '../errors.js'
import { type Layout, segmentPath } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import { settle } from '../options.js'
import { prepareLog } from '../recover/opening.js'
import { type Backup, type BackupOptions, makeCopy, settleWork } from './backup.js'
import type { Picture } from './copy-log.js'

export interface RestoreOptions extends BackupOptions {
  /** Where the log goes on. Default: by the clock, beyond any LSN that can have been issued up to now. */
  readonly nextLsn?: Lsn | undefined
}

export interface Restored extends Backup {
  /** The first LSN that the restored log issues; those since `lastLsn` are a declared gap. */
  readonly nextLsn: Lsn
}

/**
 * Makes a log out of a backup, in a directory that does not exist yet. It is opened once behind a
 * declared gap before it gets its name: no crash leaves a copy there that would issue LSNs again
 * that the original has issued since, or another log that was restored from the same backup.
 */
export async function restoreLog(
  backup: string,
  directory: string,
  { nextLsn, ...options }: RestoreOptions = {},
): Promise<Restored> {
  const work = settleWork(options)
  const { disk, clock } = work
  const settings = settle({ disk, clock, restored: nextLsn === undefined ? true : { nextLsn } })
  return makeCopy(backup, directory, work, {
    before: (layout) => refuseInUse(disk, layout),
    async finish(layout, copied, picture) {
      refuseTorn(picture)
      const { segment, headFile } = await prepareLog(layout, settings)
      await segment.file.close()
      await headFile.close()
      const { epoch, firstLsn } = segment.header
      return { ...copied, epoch, nextLsn: firstLsn }
    },
  })
}

/**
 * A backup ends with its last batch and zeros. In one that was made of a log without syncs what was
 * changed at its end since looks like a write that never returned.
 */
function refuseTorn({ segments, end, tornTail: why }: Picture): void {
  if (why === undefined) return
  const { name } = segments.at(-1)!
  const place = { file: segmentPath(name), offset: end.offset, firstMissingLsn: end.lastLsn + 1 }
  throw new WalDamageError({ kind: 'ambiguous', ...place, why: `${why}, which no backup holds` })
}

/** A log that is being written is no backup: it would go on beside the one restored from it. */
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
      `${root} is in use by ${attempt.holder || 'another process'}: it is a log, not a backup of one. Back it up first.`,
    )
  } catch (error) {
    // Where nothing can be written, nobody writes.
    if (!saysNotWritable(error)) throw error
  }
}
