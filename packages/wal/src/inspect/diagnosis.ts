import { readCheckpoint } from '../checkpoint/checkpoint.js'
import type { AcceptedLoss, Damage } from '../damage.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { noLog } from '../errors.js'
import { Place } from '../format/batch.js'
import { decodeFileHeader } from '../format/file-header.js'
import { Layout, segmentPath } from '../format/layout.js'
import { fileHeaderBytes } from '../format/limits.js'
import type { Lsn } from '../lsn.js'
import type { BadCheckpoint, Examination, Gap } from '../recover/examination.js'
import { salvage } from '../recover/salvage.js'
import { checkedStart, type RecordRange, readRecords } from '../scan/record-range.js'
import { examineUntilStable } from './examine-until-stable.js'
import { findLife, type RemainingBatch, readRemainingBatches } from './remaining-batches.js'
import { type LogOpening, openingsOf } from './verify.js'

/** A readable batch after the damage. */
export interface SalvagedBatch {
  /** Path of the file, relative to the log's directory. */
  readonly file: string
  readonly offset: number
  readonly firstLsn: Lsn
  readonly count: number
  /** Absent if only the batch's header can be read. */
  readonly records?: readonly Uint8Array[] | undefined
}

/** The part of a file that an accepted loss would cut off. `offset` 0 is the whole file. */
export interface CutOff {
  readonly file: string
  readonly offset: number
}

/**
 * Examines a log that may not open, with the same checks as an open. Takes no lock and changes
 * nothing. Beside a running writer, a log that is being written is not reported as damaged.
 */
export async function diagnoseLog(
  directory: string,
  { disk = nodeDisk }: { readonly disk?: Disk } = {},
): Promise<Diagnosis> {
  const layout = new Layout(directory)
  const examination = await examineUntilStable(disk, layout, 'recovery')
  if (examination.fresh) throw noLog(directory)
  return new Diagnosis(disk, layout, examination)
}

/** The view that an open of the log would have: the trusted records, the damage, and what can be read after it. */
export class Diagnosis {
  readonly logId: string
  readonly epoch: number
  /** Why the log does not open. */
  readonly damage: Damage | undefined
  /** Why the next open will cut off a torn write at the end. */
  readonly tornTail: string | undefined
  /** The range of the trusted records. `lastLsn` is below `firstLsn` when there are none. */
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly gaps: readonly Gap[]
  /** The checkpoints that recovery read: the newest good one. Newer bad ones are in `badCheckpoints`. */
  readonly checkpoints: readonly Lsn[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  readonly openings: readonly LogOpening[]
  /** The losses that operators have accepted. */
  readonly acceptedLosses: readonly AcceptedLoss[]
  /** Parts that an accepted loss would move to the quarantine. */
  readonly cutOff: readonly CutOff[]

  readonly #disk: Disk
  readonly #layout: Layout
  readonly #examination: Examination

  /** Use `diagnoseLog`. */
  constructor(disk: Disk, layout: Layout, examination: Examination) {
    const { segments, end, goodCheckpoints } = examination
    this.#disk = disk
    this.#layout = layout
    this.#examination = examination
    this.logId = Buffer.from(examination.logId ?? []).toString('hex')
    this.epoch = examination.highestEpoch
    this.damage = examination.damage
    this.tornTail = examination.torn?.why
    this.firstLsn = segments[0]?.header.firstLsn ?? end.lastLsn + 1
    this.lastLsn = end.lastLsn
    this.gaps = examination.gaps
    this.checkpoints = goodCheckpoints
    this.badCheckpoints = examination.badCheckpoints
    this.openings = openingsOf(segments)
    this.acceptedLosses = segments
      .filter(({ header }) => header.gap === 'accepted-loss')
      .map(({ header: { previous } }) => ({ segment: previous.sequence, offset: previous.offset }))
    this.cutOff = cutOffOf(examination)
  }

  /** The trusted records from an LSN on. */
  replay({ fromLsn }: { readonly fromLsn?: Lsn } = {}): AsyncGenerator<RecordRange> {
    const { segments, checkpoint } = this.#examination
    const from = checkedStart(fromLsn, checkpoint?.previous.lastLsn ?? 0, this.firstLsn)
    const trusted = segments.map(({ name, header, end }) => ({
      name,
      firstLsn: header.firstLsn,
      lastLsn: end.lastLsn,
    }))
    return readRecords(this.#disk, this.#layout, trusted, from)
  }

  /** The chunks of a checkpoint. Each is a view that is valid until the next step. */
  async *readCheckpoint(lsn: Lsn): AsyncGenerator<Uint8Array> {
    yield* readCheckpoint(this.#disk, this.#layout.checkpoint(lsn), lsn)
  }

  /**
   * The readable batches after the damage, in the order of their places. Batches may be missing in
   * between. For a batch without `records` only the header could be read.
   */
  async *salvagedBatches(): AsyncGenerator<SalvagedBatch> {
    for (const cut of this.cutOff) {
      const handle = await this.#disk.open(this.#pathOf(cut.file), 'read')
      try {
        yield* this.#salvage(cut, handle)
      } finally {
        await handle.close()
      }
    }
  }

  async *#salvage({ file, offset }: CutOff, handle: DiskFile): AsyncGenerator<SalvagedBatch> {
    const place = await this.#placeOf(handle, file)
    if (place === undefined) return
    for await (const batch of readRemainingBatches(handle, place, offset || fileHeaderBytes)) {
      // A file whose header is unreadable may only have batches of an earlier life.
      const isNew = batch.header.firstLsn > this.lastLsn
      if (isNew && batch.header.count > 0) yield toSalvagedBatch(file, batch)
    }
  }

  /**
   * The checksum of a batch covers its file's header. If that is unreadable, the stamps tell its
   * checksum.
   */
  async #placeOf(handle: DiskFile, file: string): Promise<Place | undefined> {
    const sector = await salvage(handle, fileHeaderBytes, 0)
    const header = decodeFileHeader(sector, 'segment', file)
    if (typeof header !== 'string') return new Place(header.logId, header.crc)
    const { logId } = this.#examination
    const life = logId === undefined ? undefined : await findLife(handle, logId)
    return logId === undefined || life === undefined ? undefined : new Place(logId, life)
  }

  #pathOf(file: string): string {
    return this.#layout.segment(file.slice(segmentPath('').length))
  }
}

function cutOffOf({ damage, segments, end, afterEnd }: Examination): CutOff[] {
  if (damage === undefined) return []
  const last = segments.at(-1)
  const tail = last === undefined ? [] : [{ file: segmentPath(last.name), offset: end.offset }]
  return [...tail, ...afterEnd.map((name) => ({ file: segmentPath(name), offset: 0 }))].sort(
    (a, b) => (a.file < b.file ? -1 : 1),
  )
}

function toSalvagedBatch(file: string, { offset, header, records }: RemainingBatch): SalvagedBatch {
  const { firstLsn, count } = header
  return { file, offset, firstLsn, count, records }
}
