import { apply, createState, encodeRecord, encodeState } from '@tenure/state-machine'
import { SimulatedClock } from '@tenure/testing'
import { openLog } from '@tenure/wal'
import type { Book } from './book.js'
import type { SourceOptions } from './source.js'

/**
 * The book as a log in a directory, byte for byte the same each time: opened where the book says
 * that a coordinator did. With checkpoints, and without what lies before the older of the last two
 * of them, if `firstLsn` is not 1.
 */
export async function writeLog(
  directory: string,
  { entries, openings }: Book,
  { checkpoints = [], firstLsn = 1 }: Omit<SourceOptions, 'runLength'> = {},
): Promise<void> {
  const state = createState()
  for (const [index, opening] of openings.entries()) {
    const clock = new SimulatedClock({ startMs: opening.at })
    // Files of one size: otherwise how large they get depends on how fast the disk is.
    const options = { clock, randomBytes: fixedBytes, sync: 'none', segmentBytes: 2 ** 20 } as const
    const log = await openLog(directory, options)
    const end = openings[index + 1]?.firstLsn ?? entries.length + 1
    for (const batch of cut(entries.slice(opening.firstLsn - 1, end - 1), checkpoints)) {
      await log.append(
        batch[0]!.lsn,
        batch.map(({ record }) => encodeRecord(record)),
      )
      for (const { lsn, record } of batch) apply(state, lsn, record)
      const { lsn } = batch.at(-1)!
      if (!checkpoints.includes(lsn)) continue
      await log.roll()
      await log.writeCheckpoint(lsn, encodeState(state))
    }
    if (firstLsn > 1) await log.truncate()
    await log.close()
  }
}

/** Pieces that end where a checkpoint is made, and are not too large. */
function* cut(
  entries: readonly Book['entries'][number][],
  checkpoints: readonly number[],
): Generator<Book['entries']> {
  let batch: Book['entries'] = []
  for (const entry of entries) {
    batch.push(entry)
    if (batch.length < batchRecordsMax && !checkpoints.includes(entry.lsn)) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

const batchRecordsMax = 100

function fixedBytes(count: number): Uint8Array {
  return new Uint8Array(count).fill(7)
}
