import { SimulatedClock, SimulatedDisk } from '@tenure/testing'
import { type Log, type LogOptions, openLog, seedCopy } from '@tenure/wal'

/** An intact log on a disk, and the records written to it. */
export interface BaseLog {
  readonly name: string
  readonly disk: SimulatedDisk
  /** Earlier versions of the log: a disk may bring back an old file. */
  readonly earlier: readonly SimulatedDisk[]
  /** Every acknowledged record, by its LSN. */
  readonly records: ReadonlyMap<number, Uint8Array>
  /** Records that a truncation removed. A file that is used again may still contain them. */
  readonly removed: ReadonlyMap<number, Uint8Array>
  /** A copy of a shared log opens only as one. */
  readonly copyOf: LogOptions['copyOf']
}

export const directory = '/data/log'

/** The smallest possible segments, so that a small log has several of them. */
const tiny = { segmentBytes: 2048, appendBytesMax: 1024 }

/**
 * Each log has an id of its own, as in production; otherwise files of one log would pass for files
 * of another.
 */
export function logOptions(disk: SimulatedDisk, idByte = 0xa5) {
  const clock = new SimulatedClock({ startMs: 1_700_000_000_000 })
  return {
    ...tiny,
    disk,
    clock,
    randomBytes: (count: number) => new Uint8Array(count).fill(idByte),
  }
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
  /** Every life of a file has batches at the places of the earlier ones. */
  async recycled(book) {
    await book.life([...uniformRounds, 'uniform', 'uniform', 'uniform'], 'crashed')
  },
  async 'recycled, at other places'(book) {
    const round: Operation[] = [1, 2, 1, 'checkpoint', 'truncate']
    await book.life([...round, ...round, ...round, ...round], 'closed')
    await book.life([3, 1, 1, 1, 1, 1], 'crashed')
  },
  async 'restored beside the original'(book) {
    await book.life([3, 2], 'closed')
    await book.elsewhere([2, 1, 1, 'checkpoint', 2])
    await book.life([2, 1, 1], 'crashed', { restored: { nextLsn: 1000 } })
  },
  async copy(book) {
    const copyOf = await book.seed({ lsn: 40, sharedEpoch: 7 })
    await book.life([2, 1, 'epoch', 1, 1], 'closed', { copyOf })
    await book.life([...uniformRounds, 'uniform', 'epoch', 'uniform', 2], 'crashed', { copyOf })
  },
}

const uniformRound = ['uniform', 'uniform', 'uniform', 'checkpoint', 'truncate'] as const
/** Enough for files to be used more than once. */
const uniformRounds = [...uniformRound, ...uniformRound, ...uniformRound, ...uniformRound]

/** Created one after the other, each once; they are the same in every process. */
export async function makeBaseLogs(): Promise<readonly BaseLog[]> {
  const logs: BaseLog[] = []
  for (const [name, make] of Object.entries(makers)) {
    const book = new Book(0xb0 + logs.length)
    await make(book)
    const { disk, earlier, records, removed, copyOf } = book
    logs.push({ name, disk, earlier, records, removed, copyOf })
  }
  return logs
}

type Operation = number | 'uniform' | 'epoch' | 'checkpoint' | 'truncate'

/** Writes a log through all its lives. */
class Book {
  disk = new SimulatedDisk({ recordCalls: false })
  readonly earlier: SimulatedDisk[] = []
  readonly records = new Map<number, Uint8Array>()
  readonly removed = new Map<number, Uint8Array>()
  copyOf: LogOptions['copyOf']
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
    const own = logOptions(this.disk, this.#idByte)
    const log = await openLog(directory, { ...own, ...options })
    for (const [index, operation] of operations.entries()) {
      await this.#do(log, operation)
      // Until the next segment is prepared.
      await own.clock.settle()
      if (index % 3 === 1) this.earlier.push(SimulatedDisk.from(this.disk.snapshot()))
    }
    if (end === 'closed') await log.close()
    this.disk = this.disk.powerLoss('keep-all')
  }

  /** Another machine continues the log. Its files come back like older ones. */
  async elsewhere(operations: readonly Operation[]): Promise<void> {
    const here = this.disk.snapshot()
    await this.life(operations, 'crashed')
    this.earlier.push(this.disk)
    this.disk = SimulatedDisk.from(here, { recordCalls: false })
  }

  /** Begins a copy of a shared log. */
  async seed(place: { readonly lsn: number; readonly sharedEpoch: number }) {
    const { disk, clock } = logOptions(this.disk, this.#idByte)
    const shared = { logId: Buffer.alloc(16, this.#idByte).toString('hex'), era: 3 }
    const at = { ...shared, ...place, clockMs: clock.now() }
    await seedCopy(directory, at, [recordOf(4)], { disk, clock })
    this.copyOf = shared
    return shared
  }

  async #do(log: Log, operation: Operation): Promise<void> {
    if (operation === 'truncate') {
      await log.truncate()
      for (const [lsn, record] of this.records) {
        if (lsn >= log.firstLsn) continue
        this.records.delete(lsn)
        this.removed.set(lsn, record)
      }
    } else if (operation === 'checkpoint') {
      await log.roll()
      await log.writeCheckpoint(log.sealedLsn, [Buffer.from(`state ${log.sealedLsn}`), recordOf(3)])
    } else if (operation === 'epoch') {
      log.enterEpoch(log.sharedEpoch + 1)
    } else {
      const { nextLsn } = log
      const records =
        operation === 'uniform'
          ? [Buffer.from(`record ${`${nextLsn}`.padStart(4)}`.repeat(20))]
          : Array.from({ length: operation }, (_, index) => recordOf(nextLsn + index))
      await log.append(nextLsn, records)
      for (const [index, record] of records.entries()) this.records.set(nextLsn + index, record)
    }
  }
}
