import type { Clock } from '@tenure/seams'
import { nextBatchOffset, Place, type SealedBatch } from '../format/batch.js'
import type { FileHeader, SegmentEnd } from '../format/file-header.js'
import { fileHeaderBytes } from '../format/limits.js'
import { extentOf } from '../format/stamps.js'
import type { Lsn } from '../lsn.js'
import type { FillingBatch } from './filling-batch.js'
import type { SealedSegment, SegmentFile } from './segment-file.js'

/**
 * The end of the log: the segment that receives records, where its durable part ends, and the
 * numbers and checksums that the next batch continues.
 */
export class Tail {
  readonly #clock: Clock
  #segment: SegmentFile
  #place: Place
  /** Where the last durable batch ends in the segment. */
  #end = fileHeaderBytes
  #chain: number
  #batchNumber: number
  #syncedThrough: number
  #durableLsn: Lsn
  #clockMs: number
  /** How many opens have been marked as started. */
  #starts: number

  constructor(segment: SegmentFile, clock: Clock) {
    const { header, headerCrc } = segment
    this.#clock = clock
    this.#segment = segment
    this.#place = new Place(header.logId, headerCrc)
    this.#chain = headerCrc
    this.#batchNumber = header.firstBatch
    this.#syncedThrough = header.firstBatch - 1
    this.#durableLsn = header.firstLsn - 1
    this.#clockMs = header.clockMs
    this.#starts = header.starts
  }

  get segment(): SegmentFile {
    return this.#segment
  }

  get segmentBytes(): number {
    return this.#segment.header.segmentBytes
  }

  get end(): number {
    return this.#end
  }

  get durableLsn(): Lsn {
    return this.#durableLsn
  }

  get starts(): number {
    return this.#starts
  }

  /** Whether the segment contains no record. */
  get isEmpty(): boolean {
    return this.#durableLsn < this.#segment.header.firstLsn
  }

  /** The segment, and where its durable part ends. */
  get sealed(): SealedSegment {
    const { name, header } = this.#segment
    return { name, header, end: this.#segmentEnd() }
  }

  /** Marks this open as started. Every later batch includes the new count. */
  countStart(): void {
    this.#starts++
  }

  /** Where the next batch starts. */
  get nextOffset(): number {
    return nextBatchOffset(this.#end)
  }

  /** Whether a batch with this many bytes of records fits into the rest of the segment. */
  fits(bodyBytes: number): boolean {
    const offset = this.nextOffset
    return offset + extentOf(offset, bodyBytes).contentBytes <= this.segmentBytes
  }

  /** Completes the batch, which is to be written at `nextOffset`. */
  seal(batch: FillingBatch): SealedBatch {
    return batch.seal(
      {
        batch: this.#batchNumber,
        chain: this.#chain,
        epoch: this.#segment.header.epoch,
        clockMs: this.#now(),
        unsyncedBefore: this.#batchNumber - 1 - this.#syncedThrough,
        starts: this.#starts,
      },
      this.#place,
      this.nextOffset,
    )
  }

  /** The batch has been written at `nextOffset`. */
  committed(batch: FillingBatch, { chain, end }: SealedBatch, isSynced: boolean): void {
    this.#end = end
    this.#chain = chain
    if (isSynced) this.#syncedThrough = this.#batchNumber
    this.#batchNumber++
    this.#durableLsn = batch.lastLsn
  }

  /** For the modes in which a write is not durable when it returns. */
  async sync(): Promise<void> {
    const through = this.#batchNumber - 1
    if (through === this.#syncedThrough) return
    await this.#segment.file.sync()
    this.#syncedThrough = Math.max(this.#syncedThrough, through)
  }

  /** In which epoch of the shared log the segment's records were decided. */
  get sharedEpoch(): number {
    return this.#segment.header.sharedEpoch
  }

  /** The header of the next segment. */
  nextHeader(segmentBytes: number, sharedEpoch: number): FileHeader {
    const { header } = this.#segment
    return {
      ...header,
      sequence: header.sequence + 1,
      firstLsn: this.#durableLsn + 1,
      clockMs: this.#now(),
      segmentBytes,
      firstBatch: this.#batchNumber,
      previous: this.#segmentEnd(),
      gap: 'none',
      starts: this.#starts,
      sharedEpoch,
    }
  }

  /** Continues in the next segment. */
  continueIn(segment: SegmentFile): void {
    this.#segment = segment
    this.#place = new Place(segment.header.logId, segment.headerCrc)
    this.#end = fileHeaderBytes
    this.#chain = segment.headerCrc
  }

  #segmentEnd(): SegmentEnd {
    return {
      sequence: this.#segment.header.sequence,
      offset: this.#end,
      lastLsn: this.#durableLsn,
      chain: this.#chain,
    }
  }

  /** The log's clock, which never goes back. */
  #now(): number {
    this.#clockMs = Math.max(this.#clockMs, this.#clock.now())
    return this.#clockMs
  }
}
