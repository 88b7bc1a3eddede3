import { crc32 } from 'node:zlib'
import type { DiskFile } from '../disk/disk.js'
import { readFully } from '../disk/files.js'
import {
  batchMagic,
  type DecodedHeader,
  decodeBatchHeader,
  findMisfit,
  nextBatchOffset,
  Place,
} from '../format/batch.js'
import { alignUp, isZero } from '../format/bytes.js'
import type { DecodedFileHeader, SegmentEnd } from '../format/file-header.js'
import {
  batchHeaderBytes,
  fileHeaderBytes,
  readWindowBytes,
  sectorBytes,
  stampBytes,
} from '../format/limits.js'
import { extentOf } from '../format/stamps.js'
import type { Lsn } from '../lsn.js'

/** A log of its own, or a copy of a shared log. */
export type LogKind = 'own' | 'copy'

/** A valid batch that continues the previous one. The body is a view that is valid until the next read. */
export interface ScannedBatch {
  readonly header: DecodedHeader
  readonly body: Uint8Array
}

/**
 * Why the scan ended: what stands at the place of the next batch. Stamps distinguish a sector that
 * was not written in this life of the file from one that was written and changed.
 */
export type Finding =
  /** The rest of the file is too small for another header. */
  | { readonly kind: 'full' }
  /** No header was written here: the rest of the sector is zeros, or content of an earlier life. */
  | { readonly kind: 'no-header' }
  | { readonly kind: 'bad-header' }
  | { readonly kind: 'discontinuous'; readonly why: string }
  /** The body fails its checksum, and some of its sectors were not written. */
  | { readonly kind: 'torn-body' }
  /** The body fails its checksum, although all of its sectors were written. */
  | { readonly kind: 'bad-body' }
  /** The checksums are right but the content is not valid. A newer version or a bug wrote it. */
  | { readonly kind: 'undecodable'; readonly why: string }
  | { readonly kind: 'read-error'; readonly cause: unknown }

/** The rest of the file after the place of a finding. */
export interface Remainder {
  /** Whether a later sector was written in this life of the file, or is damaged. */
  readonly isWritten: boolean
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
  readonly logKind: LogKind

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
    this.#place = new Place(header.logId, header.crc, header.kind)
    this.#epoch = header.epoch
    this.#sequence = header.sequence
    this.logKind = header.era === 0 ? 'own' : 'copy'
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
    const offset = this.#offset
    const restOfSector = Math.min(alignUp(offset + 1, sectorBytes), this.#fileBytes) - offset
    this.#needed = restOfSector
    const start = this.#view(offset, restOfSector)
    if (start === undefined) return undefined
    const header = decodeBatchHeader(start, this.#place.crcAt(offset))
    if (header === undefined) return this.#stop({ kind: this.#lacksHeader(start) })
    const { contentBytes, writtenBytes } = extentOf(offset, header.bodyBytes)
    const why = this.#discontinuity(header, writtenBytes)
    if (why !== undefined) return this.#stop({ kind: 'discontinuous', why })
    this.#needed = writtenBytes
    const written = this.#view(offset, writtenBytes)
    if (written === undefined) return undefined
    if (crc32(written.subarray(batchHeaderBytes, contentBytes)) !== header.bodyCrc) {
      return this.#stop({ kind: this.#isTorn(written) ? 'torn-body' : 'bad-body' })
    }
    this.#place.stamps.restore(written, offset, header.bodyBytes)
    const body = written.subarray(batchHeaderBytes, batchHeaderBytes + header.bodyBytes)
    const misfit = findMisfit(body, header.count)
    if (misfit !== undefined) return this.#stop({ kind: 'undecodable', why: misfit })
    this.#batch++
    this.#lsn += header.count
    this.#chain = header.crc
    this.#end = offset + contentBytes
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
    let isWritten = false
    let later: { offset: number; header: DecodedHeader } | undefined
    let syncedThrough = -1
    const from = alignUp(this.#offset, sectorBytes)
    const piece = new Uint8Array(Math.min(Math.max(0, this.#fileBytes - from), readWindowBytes))
    try {
      for (let start = from; start < this.#fileBytes; start += piece.length) {
        const bytes = await readFully(this.#file, piece, start)
        if (isZero(bytes)) continue
        for (const { sector, offset } of sectorsIn(bytes, start)) {
          if (this.#place.stamps.stateOf(sector, offset) === 'unwritten') continue
          isWritten = true
          for (const found of headersIn(sector, offset, this.#place)) {
            if (found.header.batch <= this.#batch) continue
            later ??= found
            syncedThrough = Math.max(
              syncedThrough,
              found.header.batch - 1 - found.header.unsyncedBefore,
            )
          }
        }
      }
    } catch (readError) {
      return { isWritten: true, syncedThrough, readError }
    }
    return { isWritten, syncedThrough, later }
  }

  /** Whether a sector of the next batch was not written. */
  #isTorn(batch: Uint8Array): boolean {
    for (const { sector, offset } of sectorsIn(batch, this.#offset)) {
      if (this.#place.stamps.stateOf(sector, offset) === 'unwritten') return true
    }
    return false
  }

  /** Why there is no header at the place of the next batch, judging by the rest of the sector. */
  #lacksHeader(rest: Uint8Array): 'no-header' | 'bad-header' {
    const state = this.#place.stamps.stateOf(rest, this.#offset)
    if (state === 'unwritten') return 'no-header'
    // The last batch has cleared the sector up to the stamp.
    const isClear = state === 'written' && isZero(rest.subarray(0, -stampBytes))
    return isClear ? 'no-header' : 'bad-header'
  }

  #discontinuity(header: DecodedHeader, writtenBytes: number): string | undefined {
    if (header.batch !== this.#batch) return `found batch ${header.batch} instead of ${this.#batch}`
    if (header.firstLsn !== this.#lsn) return `found LSN ${header.firstLsn} instead of ${this.#lsn}`
    if (header.chain !== this.#chain) return 'the batch continues a different batch'
    if (header.epoch !== this.#epoch) return `found epoch ${header.epoch} instead of ${this.#epoch}`
    if (this.#offset + writtenBytes > this.#fileBytes) {
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

/** The sectors of a piece of a file. The first can lack its beginning. */
export function* sectorsIn(
  bytes: Uint8Array,
  start: number,
): Generator<{ readonly sector: Uint8Array; readonly offset: number }> {
  for (let at = 0; at < bytes.length; ) {
    const end = alignUp(start + at + 1, sectorBytes) - start
    yield { sector: bytes.subarray(at, end), offset: start + at }
    at = end
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
