import type { Disk, LockAttempt } from '../disk/disk.js'
import { WalError } from '../errors.js'
import type { Layout } from '../format/layout.js'
import { listRoot } from './inventory.js'

export type DirectoryLock = Extract<LockAttempt, { granted: true }>

/** Takes the lock of a log's directory, which is created if it is missing. */
export async function lockDirectory(disk: Disk, layout: Layout): Promise<DirectoryLock> {
  await listRoot(disk, layout)
  await disk.createDirectory(layout.root)
  const attempt = await disk.lock(layout.lock, `process ${process.pid}`)
  if (attempt.granted) return attempt
  throw new WalError(
    'WAL_LOCKED',
    `${layout.root} is in use by ${attempt.holder || 'another process'}`,
    { remedy: 'Stop it first, or choose another directory' },
  )
}
