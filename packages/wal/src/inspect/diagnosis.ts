import { readCheckpoint } from '../checkpoint/checkpoint.js'
import type { AcceptedLoss, Damage } from '../damage.js'
import type { Disk, DiskFile } from '../disk/disk.js'
import { nodeDisk } from '../disk/node-disk.js'
import { WalError } from '../errors.js'
import { Place } from '../format/batch.js'
import { type DecodedFileHeader, decodeFileHeader, logIdBytes } from '../format/file-header.js'
import { Layout, segmentPath } from '../format/layout.js'
import { fileHeaderBytes } from '../format/limits.js'
import type { Lsn } from '../lsn.js'
import type { BadCheckpoint, Examination, Gap } from '../recover/examination.js'
import { salvage } from '../recover/salvage.js'
import { type Run, readRuns, startOf } from '../scan/runs.js'
import { type RemainingBatch, readRemains } from './remains.js'
import { examineSteadily } from './steady.js'
import { type LogOpening, openingsOf } from './verify.js'

/** A batch behind the damage, at its place. */
export interface Remain {
  /** The file's name within the log's directory. */
  readonly file: string
  readonly offset: number
  readonly firstLsn: Lsn
  readonly count: number
  /** Absent where only the batch's header is left. */
  readonly records?: readonly Uint8Array[] | undefined
}

/** From where on an accepted loss would cut a file off, all of it where `offset` is 0. */
export interface CutOff {
  readonly file: string
  readonly offset: number
}

/**
 * Looks at a log that may not open, as opening it would, and changes nothing. It takes no lock; beside
 * a running writer the log is whole.
 */
export async function diagnoseLog(
  directory: string,
  { disk = nodeDisk }: { readonly disk?: Disk } = {},
): Promise<Diagnosis> {
  const layout = new Layout(directory)
  const examination = await examineSteadily(disk, layout, 'recovery')
  if (examination.fresh) throw new WalError('WAL_NOT_A_LOG', `${directory} holds no log`)
  return new Diagnosis(disk, layout, examination)
}

/** What opening the log would find: what can be trusted, up to the damage, and what is left behind it. */
export class Diagnosis {
  readonly logId: string
  readonly epoch: number
  /** Why the log does not open. */
  readonly damage: Damage | undefined
  /** Why opening it will cut off a write at the end that never returned. */
  readonly tornTail: string | undefined
  /** The records that can be trusted. The last is below the first when there is none. */
  readonly firstLsn: Lsn
  readonly lastLsn: Lsn
  readonly gaps: readonly Gap[]
  /** Those that recovery has looked at: the newest good one, and newer ones that are bad. */
  readonly checkpoints: readonly Lsn[]
  readonly badCheckpoints: readonly BadCheckpoint[]
  readonly openings: readonly LogOpening[]
  /** The losses that an operator has accepted, as they were named. */
  readonly acceptedLosses: readonly AcceptedLoss[]
  /** What an accepted loss would move to the quarantine. */
  readonly cutOff: readonly CutOff[]

  readonly #disk: Disk
  readonly #layout: Layout
  readonly #examination: Examination

  /** For `diagnoseLog`. */
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

  /** The records that can be trusted, from an LSN on. */
  replay({ fromLsn }: { readonly fromLsn?: Lsn } = {}): AsyncGenerator<Run> {
    const { segments, checkpoint } = this.#examination
    const from = startOf(fromLsn, checkpoint?.previous.lastLsn ?? 0, this.firstLsn)
    const trusted = segments.map(({ name, header, end }) => ({
      name,
      firstLsn: header.firstLsn,
      lastLsn: end.lastLsn,
    }))
    return readRuns(this.#disk, this.#layout, trusted, from)
  }

  /** The chunks of a checkpoint, views that the next step ends. */
  async *readCheckpoint(lsn: Lsn): AsyncGenerator<Uint8Array> {
    yield* readCheckpoint(this.#disk, this.#layout.checkpoint(lsn), lsn)
  }

  /**
   * What can be read behind the damage, in the order in which it stands there. Batches may be missing
   * anywhere between; of those without records only the numbers are known.
   */
  async *remains(): AsyncGenerator<Remain> {
    for (const cut of this.cutOff) {
      const handle = await this.#disk.open(this.#pathOf(cut.file), 'read')
      try {
        yield* this.#remainsOf(cut, handle)
      } finally {
        await handle.close()
      }
    }
  }

  async *#remainsOf({ file, offset }: CutOff, handle: DiskFile): AsyncGenerator<Remain> {
    for (const place of await this.#placesOf(handle, file)) {
      let isRight = false
      for await (const batch of readRemains(handle, place, offset || fileHeaderBytes)) {
        isRight = true
        if (batch.header.count > 0) yield toRemain(file, batch)
      }
      if (isRight) return
    }
  }

  /** Batches are bound to their segment's number: where its header does not tell it, it is one of those missing. */
  async #placesOf(handle: DiskFile, file: string): Promise<Place[]> {
    const header = await readHeader(handle, file)
    if (header !== undefined) return [new Place(header.logId, header.sequence)]
    const { end, highestSequence, logId = noLogId } = this.#examination
    const count = Math.min(highestSequence + 1 - end.sequence, placesMax)
    return Array.from({ length: count }, (_, at) => new Place(logId, end.sequence + 1 + at))
  }

  #pathOf(file: string): string {
    return this.#layout.segment(file.slice(segmentPath('').length))
  }
}

/** The nearest ones: each costs a look at the whole file, and what names the last one may be wrong. */
const placesMax = 256

const noLogId = new Uint8Array(logIdBytes)

function cutOffOf({ damage, segments, end, beyond }: Examination): CutOff[] {
  if (damage === undefined) return []
  const last = segments.at(-1)
  const tail = last === undefined ? [] : [{ file: segmentPath(last.name), offset: end.offset }]
  return [...tail, ...beyond.map((name) => ({ file: segmentPath(name), offset: 0 }))].sort(
    (a, b) => (a.file < b.file ? -1 : 1),
  )
}

async function readHeader(handle: DiskFile, file: string): Promise<DecodedFileHeader | undefined> {
  const header = decodeFileHeader(await salvage(handle, fileHeaderBytes, 0), 'segment', file)
  return typeof header === 'string' ? undefined : header
}

function toRemain(file: string, { offset, header, records }: RemainingBatch): Remain {
  const { firstLsn, count } = header
  return { file, offset, firstLsn, count, records }
}
