import { apply, createState, encodeRecord, encodeState, hashState } from '@tenure/state-machine'
import { Random, SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { randomBook } from '@tenure/testing-histories'
import { type LogOptions, openLog } from '@tenure/wal'

/** A log of a whole history with checkpoints, and the final state of the history. */
export interface BaseHistory {
  readonly disk: SimulatedDisk
  readonly hash: string
  readonly checkpointLsns: readonly number[]
  /** The encoded state of each checkpoint, by its LSN. */
  readonly states: ReadonlyMap<number, Buffer>
  /** The beginning of the log was removed, so that records alone cannot rebuild the state. */
  readonly isTruncated: boolean
}

export const directory = '/data'

export function logOptions(disk: SimulatedDisk): LogOptions {
  const clock = new SimulatedClock({ startMs: 1_800_000_000_000 })
  const randomBytes = (count: number) => new Uint8Array(count).fill(7)
  return { disk, clock, randomBytes, segmentBytes: 8192, appendBytesMax: 1024 }
}

/** Identical in every process. */
export async function makeBaseHistories(): Promise<readonly BaseHistory[]> {
  return [await makeHistory(1, false), await makeHistory(2, true), await makeHistory(3, false)]
}

const records = 120
const checkpointEvery = 30

async function makeHistory(seed: number, isTruncated: boolean): Promise<BaseHistory> {
  const { entries } = randomBook(new Random(seed), 4 * records)
  const disk = new SimulatedDisk({ recordCalls: false })
  const log = await openLog(directory, logOptions(disk))
  const state = createState()
  const states = new Map<number, Buffer>()
  for (const { lsn, record } of entries.slice(0, records - 5)) {
    await log.append(lsn, encodeRecord(record))
    apply(state, lsn, record)
    if (lsn % checkpointEvery !== 0) continue
    await log.roll()
    const chunks = [...encodeState(state, { chunkBytesMax: 600 })]
    await log.writeCheckpoint(lsn, chunks)
    states.set(lsn, Buffer.concat(chunks))
    if (isTruncated) await log.truncate()
  }
  await log.close()
  // A truncation keeps two checkpoints.
  const kept = [...states.keys()].slice(isTruncated ? -2 : 0)
  const hash = hashState(state)
  const left = disk.powerLoss('keep-all')
  return { disk: left, hash, checkpointLsns: kept, states, isTruncated }
}

export function checkpointPath(lsn: number): string {
  return `${directory}/checkpoint/${String(lsn).padStart(16, '0')}.ckpt`
}
