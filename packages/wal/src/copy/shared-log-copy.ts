import type { Clock } from '@tenure/seams'
import { writeCheckpoint } from '../checkpoint/checkpoint.js'
import type { Chunks } from '../checkpoint/checkpoints.js'
import type { Disk } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { HeadFile } from '../format/head.js'
import { Layout } from '../format/layout.js'
import { type Lsn, lsnMax } from '../lsn.js'
import {
  check,
  checkIdentity,
  type LogSettings,
  resolveOptions,
  type SharedLogIdentity,
} from '../options.js'
import { lockDirectory } from '../recover/directory-lock.js'
import { type IdentityChange, prepareLog } from '../recover/prepare-log.js'
import { Staging } from './staging.js'

/**
 * A shared log is decided elsewhere, and a directory can copy it. A copy is no log of its own: two
 * copies that both issued LSNs would contradict each other. These functions cross that border.
 */
export interface MachineOptions {
  readonly disk?: Disk
  readonly clock?: Clock
}

/** The place in a shared log at which a new copy begins. */
export interface SeedPlace extends SharedLogIdentity {
  /** The last record in the checkpoint's state. */
  readonly lsn: Lsn
  /** In which epoch of the shared log that record was decided. */
  readonly sharedEpoch: number
  /** When it was decided, by the shared log's clock. */
  readonly clockMs: number
}

/**
 * Makes a copy that begins with a checkpoint, in a directory that does not exist yet. Open it with
 * `copyOf`, and append the records after the checkpoint.
 */
export async function seedCopy(
  directory: string,
  place: SeedPlace,
  chunks: Chunks,
  { disk = nodeDisk }: MachineOptions = {},
): Promise<void> {
  const { lsn, sharedEpoch, clockMs } = place
  const { logId, era } = checkIdentity(place)
  check.whole('lsn', lsn, 1, lsnMax)
  check.whole('sharedEpoch', sharedEpoch, 1, lsnMax)
  check.whole('clockMs', clockMs, 0, lsnMax)
  const staging = await Staging.open(disk, directory)
  try {
    const at = { sequence: 0, offset: 0, lastLsn: lsn, chain: 0 }
    const facts = { logId, epoch: 0, starts: 0, clockMs, era, sharedEpoch, at }
    await writeCheckpoint(disk, staging.layout, facts, chunks)
    const head = await HeadFile.open(disk, staging.layout)
    try {
      await head.write({ logId, sequence: 0, epoch: 0, era })
    } finally {
      await head.close()
    }
    await staging.publish()
  } catch (error) {
    await staging.discard()
    throw error
  }
}

/** Makes a log of its own the beginning of a shared log. The directory is then a copy of that log. */
export async function attachLog(
  directory: string,
  shared: SharedLogIdentity,
  options: MachineOptions = {},
): Promise<void> {
  await changeIdentity(directory, resolveOptions({ ...options, copyOf: shared }), 'attach')
}

/**
 * Makes a copy a log of its own. It continues after a declared gap, because the shared log may have
 * issued LSNs that the copy does not have: at `nextLsn`, or at an LSN computed from the clock.
 * Returns that LSN.
 */
export async function detachCopy(
  directory: string,
  { nextLsn, ...options }: MachineOptions & { readonly nextLsn?: Lsn | undefined } = {},
): Promise<Lsn> {
  const restored = nextLsn === undefined ? true : { nextLsn }
  return changeIdentity(directory, resolveOptions({ ...options, restored }), 'detach')
}

async function changeIdentity(
  directory: string,
  settings: LogSettings,
  change: IdentityChange,
): Promise<Lsn> {
  const layout = new Layout(directory)
  const lock = await lockDirectory(settings.disk, layout)
  try {
    const { segment, headFile } = await prepareLog(layout, settings, change)
    await segment.file.close()
    await headFile.close()
    return segment.header.firstLsn
  } finally {
    await lock.release()
  }
}
