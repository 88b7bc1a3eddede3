import { apply, createState, encodeRecord, encodeState } from '@tenure/state-machine'
import { SimulatedClock } from '@tenure/testing'
import { openLog } from '@tenure/wal'
import type { Book } from './book.js'
import type { SourceOptions } from './source.js'

/**
 * Writes the book as a log into a directory, with the same bytes each time, and with an opening for each of
 * the book's. Checkpoints are written, too. If `firstLsn` is not 1, the log is truncated at the older of its
 * last two checkpoints.
 */
export async function writeLog(
  directory: string,
  { entries, openings }: Book,
  { checkpoints = [], firstLsn = 1 }: Omit<SourceOptions, 'runLength'> = {},
): Promise<void> {
  const state = createState()
  for (const [index, opening] of openings.entries()) {
    const clock = new SimulatedClock({ startMs: opening.at })
    // Files of one size: otherwise their sizes would depend on the speed of the disk.
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

/** Batches of limited size that end where a checkpoint is made. */
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
