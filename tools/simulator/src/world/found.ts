import { type Entry, History, keep } from '@tenure/history'
import { entriesOf } from '@tenure/history/internal'
import { hashState, position } from '@tenure/state-machine'
import { type DiskImage, type SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { openReadOnly } from '@tenure/wal'
import { directory } from './coordinator-options.js'

/** The contents of a log: its readable records, and the state at its end. */
export interface LogContents {
  readonly entries: readonly Entry[]
  readonly lastLsn: number
  readonly checkpointLsn: number
  readonly hash: string
}

/**
 * Reads the log on a disk with the shipped reader. On a damaged disk it reads only the records
 * after the newest checkpoint and the unknown ones: older ones may be bad, and are not needed.
 */
export async function readLog(
  image: DiskImage,
  clock: SimulatedClock,
  damaged?: { readonly knownLsn: number },
): Promise<LogContents> {
  const disk = SimulatedDisk.from(image, { recordCalls: false })
  const reader = await openReadOnly(directory, { disk, clock })
  const history = new History(reader)
  const state = await history.stateAt()
  const entries: Entry[] = []
  const needed = damaged && Math.min(reader.checkpointLsn, damaged.knownLsn) + 1
  const fromLsn = Math.max(reader.firstLsn, needed ?? 0)
  for await (const run of reader.replay({ fromLsn })) {
    for (const entry of entriesOf(run)) entries.push(keep(entry))
  }
  const { lastLsn } = position(state)
  return { entries, lastLsn, checkpointLsn: reader.checkpointLsn, hash: hashState(state) }
}
