import type { Disk } from '../disk/disk.js'
import { listIfPresent } from '../disk/files.js'
import { saysNoSpace, systemCode, WalError } from '../errors.js'
import type { FileHeader, SegmentEnd } from '../format/file-header.js'
import { type Layout, lsnOfCheckpointName } from '../format/layout.js'
import type { Lsn } from '../lsn.js'
import {
  type CheckpointFacts,
  isBadCheckpoint,
  refuseForeignCheckpoint,
  verifyCheckpoint,
  writeCheckpoint,
} from './checkpoint.js'

/** A log's checkpoints, used by the open log and by `makeCheckpoint`. */

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** Writes a checkpoint at the end of a sealed segment. `at` is that end; without it the call fails. */
export async function storeCheckpoint(
  disk: Disk,
  layout: Layout,
  facts: Omit<CheckpointFacts, 'at'> & { readonly lsn: Lsn; readonly at: SegmentEnd | undefined },
  chunks: Chunks,
): Promise<void> {
  const { lsn, at, ...rest } = facts
  if (at === undefined) {
    throw new WalError(
      'WAL_BAD_CHECKPOINT',
      `LSN ${lsn} is not the last record of a sealed segment`,
      { remedy: "Call roll(), then make the checkpoint at the log's sealedLsn" },
    )
  }
  try {
    await writeCheckpoint(disk, layout, { ...rest, at }, chunks)
  } catch (error) {
    if (!saysNoSpace(error)) throw error
    throw new WalError('WAL_NO_SPACE', 'the disk has no space for the checkpoint', {
      remedy: 'Free some disk space and make the checkpoint again',
      cause: error,
    })
  }
}

/** Reads every checkpoint back, newest first, except those that are `known` to be good. */
export async function goodCheckpoints(
  disk: Disk,
  layout: Layout,
  segments: readonly { readonly header: FileHeader }[],
  known: readonly Lsn[] = [],
): Promise<Lsn[]> {
  const names = await listIfPresent(disk, layout.checkpoints)
  const lsns = names.map(lsnOfCheckpointName).filter((lsn) => lsn !== undefined)
  const good: Lsn[] = []
  for (const lsn of lsns.sort((a, b) => b - a)) {
    const isGood = known.includes(lsn) || (await readsBack(disk, layout, segments, lsn))
    if (isGood) good.push(lsn)
  }
  return good
}

async function readsBack(
  disk: Disk,
  layout: Layout,
  segments: readonly { readonly header: FileHeader }[],
  lsn: Lsn,
): Promise<boolean> {
  try {
    refuseForeignCheckpoint(await verifyCheckpoint(disk, layout.checkpoint(lsn), lsn), segments)
    return true
  } catch (error) {
    // A missing file was a bad checkpoint that has been moved away.
    if (isBadCheckpoint(error) || systemCode(error) === 'ENOENT') return false
    throw error
  }
}
