import { crc32 } from 'node:zlib'
import type { DiskFile } from '../disk/disk.js'
import { readFully } from '../disk/files.js'
import {
  batchMagic,
  countZeroSectors,
  type DecodedHeader,
  decodeBatchHeader,
  findMisfit,
  nextBatchOffset,
  Place,
} from '../format/batch.js'
import { endOfContent, isZero } from '../format/bytes.js'
import type { DecodedFileHeader, SegmentEnd } from '../format/file-header.js'
import {
  batchAlignment,
  batchHeaderBytes,
  fileHeaderBytes,
  readWindowBytes,
} from '../format/limits.js'
import type { Lsn } from '../lsn.js'

/** A valid batch that continues the previous one. The body is a view that is valid until the next read. */
export interface ScannedBatch {
  readonly header: DecodedHeader
  readonly body: Uint8Array
}

/** Why the scan ended: what stands at the place of the next batch. */
export type Finding =
  /** The rest of the file is too small for another header. */
  | { readonly kind: 'full' }
  /** Zeros instead of a header. The content after them decides what they mean. */
  | { readonly kind: 'zero-header' }
  | { readonly kind: 'bad-header' }
  | { readonly kind: 'discontinuous'; readonly why: string }
  | { readonly kind: 'bad-body'; readonly unexplainedZeroSectors: boolean }
  /** The checksums are right but the content is not valid. A newer version or a bug wrote it. */
  | { readonly kind: 'undecodable'; readonly why: string }
  | { readonly kind: 'read-error'; readonly cause: unknown }

/** The rest of the file after the place of a finding. */
export interface Remainder {
  readonly nonZero: boolean
  /** Where the last non-zero byte ends. */
  readonly contentEnd: number
  /** The first valid header after the place that has a higher batch number. */
  readonly later?: { readonly offset: number; readonly header: DecodedHeader } | undefined
  /** The highest batch number that a later header proves to be synced. */
  readonly syncedThrough: number
  readonly readError?: unknown
}

/** Reads a segment or a checkpoint from its start, batch by batch, while they are valid and continuous. */
export class Scanner {
  readonly #file: DiskFile
  readonly #fileBytes: number
  readonly #place: Place
  readonly #epoch: number
  readonly #sequence: number

  /** Where the next batch should start, and the values it should have. */
  #offset = nextBatchOffset(fileHeaderBytes)
  #batch: number
  #lsn: Lsn
  #chain: number
  #end = fileHeaderBytes

  #window: Uint8Array
  #windowStart = 0
  #windowLength = 0

  /** How many bytes of the next batch must be in the window: its header, and then its body, too. */
  #needed = batchHeaderBytes
  #finding: Finding | undefined
  /** After `retry`: read no more than necessary, because there may be nothing new. */
  #isPeeking = false

  constructor(file: DiskFile, fileBytes: number, header: DecodedFileHeader) {
    this.#file = file
    this.#fileBytes = fileBytes
    this.#place = new Place(header.logId, header.sequence)
    this.#epoch = header.epoch
    this.#sequence = header.sequence
    this.#batch = header.firstBatch
    this.#lsn = header.firstLsn
    this.#chain = header.crc
    this.#window = new Uint8Array(Math.min(fileBytes, readWindowBytes))
  }

  /** Where the valid part ends. */
  get end(): SegmentEnd {
    return {
      sequence: this.#sequence,
      offset: this.#end,
      lastLsn: this.#lsn - 1,
      chain: this.#chain,
    }
  }

  /** Where the next batch should start. */
  get offset(): number {
    return this.#offset
  }

  get nextBatch(): number {
    return this.#batch
  }

  get nextLsn(): Lsn {
    return this.#lsn
  }

  /** The reason why the scan ended, or `undefined` if it has not ended. */
  get finding(): Finding | undefined {
    return this.#finding
  }

  /**
   * The next batch if the window contains all of it. `undefined` means that `fill` is needed,
   * unless there is a finding.
   */
  take(): ScannedBatch | undefined {
    if (this.#finding !== undefined) return undefined
    if (this.#offset + batchHeaderBytes > this.#fileBytes) return this.#stop({ kind: 'full' })
    this.#needed = batchHeaderBytes
    const headerBytes = this.#view(this.#offset, batchHeaderBytes)
    if (headerBytes === undefined) return undefined
    const header = decodeBatchHeader(headerBytes, this.#place.crcAt(this.#offset))
    if (header === undefined) {
      return this.#stop({ kind: isZero(headerBytes) ? 'zero-header' : 'bad-header' })
    }
    const why = this.#discontinuity(header)
    if (why !== undefined) return this.#stop({ kind: 'discontinuous', why })
    this.#needed += header.bodyBytes
    const bodyOffset = this.#offset + batchHeaderBytes
    const body = this.#view(bodyOffset, header.bodyBytes)
    if (body === undefined) return undefined
    if (crc32(body) !== header.bodyCrc) {
      const unexplainedZeroSectors = countZeroSectors(body, bodyOffset) > header.zeroSectors
      return this.#stop({ kind: 'bad-body', unexplainedZeroSectors })
    }
    const misfit = findMisfit(body, header.count)
    if (misfit !== undefined) return this.#stop({ kind: 'undecodable', why: misfit })
    this.#batch++
    this.#lsn += header.count
    this.#chain = header.crc
    this.#end = bodyOffset + header.bodyBytes
    this.#offset = nextBatchOffset(this.#end)
    return { header, body }
  }

  /** Reads until the window contains the whole next batch. Invalidates all views returned before. */
  async fill(): Promise<void> {
    const needed = this.#needed
    if (needed > this.#window.length) this.#window = this.#moved(new Uint8Array(needed))
    else this.#moved(this.#window)
    try {
      while (this.#windowLength < needed) {
        const into = this.#window.subarray(this.#windowLength, this.#isPeeking ? needed : undefined)
        const count = await this.#file.read(into, this.#windowStart + this.#windowLength)
        if (count === 0) throw new Error(`the file ends before byte ${this.#offset + needed}`)
        this.#windowLength += count
      }
      this.#isPeeking = false
    } catch (cause) {
      this.#finding = { kind: 'read-error', cause }
    }
  }

  /** The next batch, or `undefined` when the scan has ended with a finding. */
  async next(): Promise<ScannedBatch | undefined> {
    for (;;) {
      const batch = this.take()
      if (batch !== undefined || this.#finding !== undefined) return batch
      await this.fill()
    }
  }

  /** Discards the finding and the window, to read a file again that another process is writing. */
  retry(): void {
    this.#finding = undefined
    this.#windowLength = 0
    this.#isPeeking = true
  }

  /** Reads everything after the place of the finding. */
  async remainder(): Promise<Remainder> {
    let contentEnd = this.#offset
    let later: { offset: number; header: DecodedHeader } | undefined
    let syncedThrough = -1
    // A header may cross two pieces, so pieces overlap by a header minus the alignment.
    const overlap = batchHeaderBytes - batchAlignment
    // The next header's place may lie after the end of a file that ends inside a sector.
    const left = Math.max(0, this.#fileBytes - this.#offset)
    const piece = new Uint8Array(Math.min(left + overlap, readWindowBytes))
    try {
      for (let start = this.#offset; start < this.#fileBytes; start += piece.length - overlap) {
        const bytes = await readFully(this.#file, piece, start)
        if (isZero(bytes)) continue
        contentEnd = Math.max(contentEnd, start + endOfContent(bytes))
        for (const { offset, header } of headersIn(bytes, start, this.#place)) {
          if (header.batch <= this.#batch) continue
          later ??= { offset, header }
          syncedThrough = Math.max(syncedThrough, header.batch - 1 - header.unsyncedBefore)
        }
      }
    } catch (readError) {
      return { nonZero: true, contentEnd, syncedThrough, readError }
    }
    const nonZero = contentEnd > this.#offset
    return { nonZero, contentEnd, syncedThrough, later }
  }

  #discontinuity(header: DecodedHeader): string | undefined {
    if (header.batch !== this.#batch) return `found batch ${header.batch} instead of ${this.#batch}`
    if (header.firstLsn !== this.#lsn) return `found LSN ${header.firstLsn} instead of ${this.#lsn}`
    if (header.chain !== this.#chain) return 'the batch continues a different batch'
    if (header.epoch !== this.#epoch) return `found epoch ${header.epoch} instead of ${this.#epoch}`
    if (this.#offset + batchHeaderBytes + header.bodyBytes > this.#fileBytes) {
      return `its ${header.bodyBytes} bytes extend past the end of the file`
    }
    return undefined
  }

  #view(offset: number, length: number): Uint8Array | undefined {
    const at = offset - this.#windowStart
    if (at < 0 || at + length > this.#windowLength) return undefined
    return this.#window.subarray(at, at + length)
  }

  /** Moves the window's content from the next batch on to the start of `target`. */
  #moved(target: Uint8Array): Uint8Array {
    const from = this.#offset - this.#windowStart
    const kept = from >= 0 && from < this.#windowLength
    if (kept) target.set(this.#window.subarray(from, this.#windowLength), 0)
    this.#windowLength = kept ? this.#windowLength - from : 0
    this.#windowStart = this.#offset
    return target
  }

  #stop(finding: Finding): undefined {
    this.#finding = finding
    return undefined
  }
}

/** Every batch header in bytes that start at `start` in their file, whatever lies between them. */
export function* headersIn(
  bytes: Uint8Array,
  start: number,
  place: Place,
): Generator<{ readonly offset: number; readonly header: DecodedHeader }> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = buffer.indexOf(batchMagic); at !== -1; at = buffer.indexOf(batchMagic, at + 1)) {
    const offset = start + at
    if (nextBatchOffset(offset) !== offset || at + batchHeaderBytes > bytes.length) continue
    const candidate = bytes.subarray(at, at + batchHeaderBytes)
    const header = decodeBatchHeader(candidate, place.crcAt(offset))
    if (header !== undefined) yield { offset, header }
  }
}
