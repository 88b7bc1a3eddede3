import { SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { type Log, type LogOptions, openLog } from '@tenure/wal'

/** An intact log on a disk, and the records written to it. */
export interface BaseLog {
  readonly name: string
  readonly disk: SimulatedDisk
  /** Earlier versions of the log: a disk may bring back an old file. */
  readonly earlier: readonly SimulatedDisk[]
  /** Every acknowledged record, by its LSN. */
  readonly records: ReadonlyMap<number, Uint8Array>
}

export const directory = '/data/log'

/** The smallest possible segments, so that a small log has several of them. */
const tiny = { segmentBytes: 1736, appendBytesMax: 1024 }

/**
 * Each log has an id of its own, as in production; otherwise files of one log would pass for files
 * of another.
 */
export function logOptions(disk: SimulatedDisk, idByte = 0xa5): LogOptions {
  const clock = new SimulatedClock({ startMs: 1_700_000_000_000 })
  return { ...tiny, disk, clock, randomBytes: (count) => new Uint8Array(count).fill(idByte) }
}

/** The record of an LSN. One is longer than a sector, one is all zeros, one is empty. */
export function recordOf(lsn: number): Uint8Array {
  if (lsn % 7 === 5) return new Uint8Array(600)
  if (lsn % 7 === 6) return new Uint8Array(0)
  return Buffer.from(`record ${lsn} `.repeat(1 + ((lsn * 7) % 11)))
}

/** The different histories of a log. */
const makers: { readonly [name: string]: (book: Book) => Promise<void> } = {
  async crashed(book) {
    await book.life([1, 1, 1, 1], 'closed')
    await book.life([5, 1, 1, 1, 1, 1, 1], 'crashed')
  },
  async closed(book) {
    await book.life([2, 3], 'closed')
    await book.life([], 'closed')
    await book.life([1, 1], 'closed')
  },
  async truncated(book) {
    await book.life([4, 'checkpoint', 4, 'checkpoint', 4, 'checkpoint', 2], 'crashed')
    await book.life([1, 'truncate', 1], 'crashed')
  },
  async 'checkpointed in the middle'(book) {
    await book.life([3, 'checkpoint', 5], 'crashed')
    await book.life([1, 1], 'crashed')
  },
  async restored(book) {
    await book.life([3, 2], 'closed')
    await book.life([2, 1], 'crashed', { restored: { nextLsn: 1000 } })
  },
  async fresh(book) {
    await book.life([], 'crashed')
  },
}

/** Created one after the other, each once; they are the same in every process. */
export async function makeBaseLogs(): Promise<readonly BaseLog[]> {
  const logs: BaseLog[] = []
  for (const [name, make] of Object.entries(makers)) {
    const book = new Book(0xb0 + logs.length)
    await make(book)
    const { disk, earlier, records } = book
    logs.push({ name, disk, earlier, records })
  }
  return logs
}

type Operation = number | 'checkpoint' | 'truncate'

/** Writes a log through all its lives. */
class Book {
  disk = new SimulatedDisk({ recordCalls: false })
  readonly earlier: SimulatedDisk[] = []
  readonly records = new Map<number, Uint8Array>()
  readonly #idByte: number

  constructor(idByte: number) {
    this.#idByte = idByte
  }

  /** Numbers are record counts of one batch. */
  async life(
    operations: readonly Operation[],
    end: 'closed' | 'crashed',
    options: LogOptions = {},
  ): Promise<void> {
    const log = await openLog(directory, { ...logOptions(this.disk, this.#idByte), ...options })
    for (const [index, operation] of operations.entries()) {
      await this.#do(log, operation)
      if (index % 3 === 1) this.earlier.push(SimulatedDisk.from(this.disk.snapshot()))
    }
    if (end === 'closed') await log.close()
    this.disk = this.disk.powerLoss('keep-all')
  }

  async #do(log: Log, operation: Operation): Promise<void> {
    if (operation === 'truncate') {
      await log.truncate()
      for (const lsn of this.records.keys()) if (lsn < log.firstLsn) this.records.delete(lsn)
    } else if (operation === 'checkpoint') {
      await log.roll()
      await log.writeCheckpoint(log.sealedLsn, [Buffer.from(`state ${log.sealedLsn}`), recordOf(3)])
    } else {
      const { nextLsn } = log
      const records = Array.from({ length: operation }, (_, index) => recordOf(nextLsn + index))
      await log.append(nextLsn, records)
      for (const [index, record] of records.entries()) this.records.set(nextLsn + index, record)
    }
  }
}
