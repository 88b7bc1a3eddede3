import { type Clock, systemClock } from '@tenure/seams'
import { type Chunks, goodCheckpoints, storeCheckpoint } from './checkpoint/checkpoints.js'
import type { Disk } from './disk/disk.js'
import { nodeDisk } from './disk/node-disk.js'
import { noLog } from './errors.js'
import { Layout } from './format/layout.js'
import type { Lsn } from './lsn.js'
import { surveyUntilStable } from './recover/survey.js'

/**
 * Makes a checkpoint at the end of a sealed segment, from another thread or process than the one
 * that has the log open. This is possible because a sealed segment never changes. Takes no lock.
 * Reads this checkpoint and all others back and returns the good ones, newest first. Pass them to
 * `truncate` of the open log, which removes what they supersede.
 */
export async function makeCheckpoint(
  directory: string,
  lsn: Lsn,
  chunks: Chunks,
  { disk = nodeDisk, clock = systemClock }: { readonly disk?: Disk; readonly clock?: Clock } = {},
): Promise<Lsn[]> {
  const layout = new Layout(directory)
  const { examination } = await surveyUntilStable(disk, layout)
  const { segments, logId, highestEpoch: epoch, starts, era } = examination
  if (logId === undefined) throw noLog(directory)
  // The end of a sealed segment is recorded in the next segment's header.
  const next = segments.findLast(({ header }) => header.previous.lastLsn === lsn)?.header
  const at = lsn > 0 ? next?.previous : undefined
  const sealed = segments.find(({ header }) => header.sequence === at?.sequence)
  const sharedEpoch = (sealed ?? segments.at(-1))?.header.sharedEpoch ?? 0
  await storeCheckpoint(
    disk,
    layout,
    { logId, epoch, starts, era, sharedEpoch, clockMs: clock.now(), lsn, at },
    chunks,
  )
  return goodCheckpoints(disk, layout, segments, [lsn])
}
