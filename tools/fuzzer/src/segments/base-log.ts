import { SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { type Log, type LogOptions, openLog } from '@tenure/wal'

/** A sound log on a disk, and what was written there. */
export interface BaseLog {
  readonly name: string
  readonly disk: SimulatedDisk
  /** The same log at earlier moments: a disk may come back with an old file. */
  readonly earlier: readonly SimulatedDisk[]
  /** Every record that was acknowledged, by its LSN. */
  readonly records: ReadonlyMap<number, Uint8Array>
}

export const directory = '/data/log'

/** The smallest segments there can be: they make the smallest log with several of them. */
const tiny = { segmentBytes: 1736, appendBytesMax: 1024 }

/** Each log has an id of its own, as in life: else a file of one would pass for a file of the other. */
export function logOptions(disk: SimulatedDisk, idByte = 0xa5): LogOptions {
  const clock = new SimulatedClock({ startMs: 1_700_000_000_000 })
  return { ...tiny, disk, clock, randomBytes: (count) => new Uint8Array(count).fill(idByte) }
}

/** The record that belongs to an LSN. One of them is longer than a sector, one is all zeros, one empty. */
export function recordOf(lsn: number): Uint8Array {
  if (lsn % 7 === 5) return new Uint8Array(600)
  if (lsn % 7 === 6) return new Uint8Array(0)
  return Buffer.from(`record ${lsn} `.repeat(1 + ((lsn * 7) % 11)))
}

/** In which ways a log can have come about. */
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

/** One after the other, each made once: they are the same in every process. */
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

type Deed = number | 'checkpoint' | 'truncate'

/** Writes a log through all its lives. */
class Book {
  disk = new SimulatedDisk({ recordCalls: false })
  readonly earlier: SimulatedDisk[] = []
  readonly records = new Map<number, Uint8Array>()
  readonly #idByte: number

  constructor(idByte: number) {
    this.#idByte = idByte
  }

  /** Numbers are of records in one batch. */
  async life(
    deeds: readonly Deed[],
    end: 'closed' | 'crashed',
    options: LogOptions = {},
  ): Promise<void> {
    const log = await openLog(directory, { ...logOptions(this.disk, this.#idByte), ...options })
    for (const [index, deed] of deeds.entries()) {
      await this.#do(log, deed)
      if (index % 3 === 1) this.earlier.push(SimulatedDisk.from(this.disk.snapshot()))
    }
    if (end === 'closed') await log.close()
    this.disk = this.disk.powerLoss('keep-all')
  }

  async #do(log: Log, deed: Deed): Promise<void> {
    if (deed === 'truncate') {
      await log.truncate()
      for (const lsn of this.records.keys()) if (lsn < log.firstLsn) this.records.delete(lsn)
    } else if (deed === 'checkpoint') {
      await log.roll()
      await log.writeCheckpoint(log.sealedLsn, [Buffer.from(`state ${log.sealedLsn}`), recordOf(3)])
    } else {
      const { nextLsn } = log
      const records = Array.from({ length: deed }, (_, index) => recordOf(nextLsn + index))
      await log.append(nextLsn, records)
      for (const [index, record] of records.entries()) this.records.set(nextLsn + index, record)
    }
  }
}
