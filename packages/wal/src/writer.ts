import { crc32 } from 'node:zlib'
import { countZeroSectors, encodeBatchHeader, nextBatchOffset, Place } from './batch.js'
import type { Timer } from './clock.js'
import { WalError } from './errors.js'
import type { FileHeader, SegmentEnd } from './file-header.js'
import { writeFully } from './files.js'
import { FillingBatch } from './filling-batch.js'
import type { Layout } from './layout.js'
import {
  batchHeaderBytes,
  batchOverheadBytes,
  eagerBatchBytes,
  fileHeaderBytes,
  recordHeaderBytes,
  syncMarkDelayMs,
} from './limits.js'
import { type Lsn, lsnMax } from './lsn.js'
import type { LogSettings } from './options.js'
import {
  beginSegment,
  refuseIfSuperseded,
  type SealedSegment,
  type SegmentFile,
} from './segment-file.js'
import type { SpareKeeper } from './spare.js'

/**
 * Who is refused first when the disk is full. Of the last segment there is, `low` may use the first
 * half, `normal` three quarters, `high` all: work that makes new work goes before work that ends it.
 */
export type Urgency = 'low' | 'normal' | 'high'

const shareKeptBack: Record<Urgency, number> = { low: 1 / 2, normal: 1 / 4, high: 0 }

/** Room set aside for records that are still to be made. */
export interface Claim {
  readonly bytes: number
  /** Gives the room back. To be called once, unless the claim was handed to `append`. */
  release(): void
}

type Mode = 'open' | 'closing' | 'closed' | 'failed'

/** A write on the event loop slower than this sends the next ones to the thread pool. */
const slowWriteMs = 2
const writesOffLoopAfterSlowOne = 64

/**
 * Appends by group commit. What is appended while one batch is on its way to the disk makes up the
 * next; one batch is in flight at a time, and a later one therefore proves the ones before.
 *
 *     open ──close──▶ closing ──▶ closed
 *       └──a write or sync fails──▶ failed
 */
export class Writer {
  readonly #settings: LogSettings
  readonly #layout: Layout
  readonly #spares: SpareKeeper
  readonly #onSealed: (sealed: SealedSegment) => void

  #mode: Mode = 'open'
  #failure: WalError | undefined

  #segment: SegmentFile
  #place: Place
  /** Where the last durable batch ends in the segment. */
  #end = fileHeaderBytes
  #chain: number
  #batchNumber: number
  #syncedThrough: number
  #durableLsn: Lsn
  #clockMs: number

  #nextLsn: Lsn
  #filling: FillingBatch | undefined
  /** Batches that are full and wait for their turn. */
  readonly #full: FillingBatch[] = []
  #inFlight: FillingBatch | undefined
  #isRolling = false
  #isScheduled = false
  #buffers: Uint8Array[] = []
  #claimedBytes = 0
  #writesOffLoop = 0

  #lastCommitMs = 0
  #isMarked = true
  #markTimer: Timer | undefined
  #syncTimer: Timer | undefined
  #idle: Array<() => void> = []

  constructor(options: {
    settings: LogSettings
    layout: Layout
    spares: SpareKeeper
    segment: SegmentFile
    onSealed: (sealed: SealedSegment) => void
  }) {
    this.#settings = options.settings
    this.#layout = options.layout
    this.#spares = options.spares
    this.#onSealed = options.onSealed
    this.#segment = options.segment
    const { header, headerCrc } = options.segment
    this.#place = new Place(header.logId, header.sequence)
    this.#chain = headerCrc
    this.#batchNumber = header.firstBatch
    this.#syncedThrough = header.firstBatch - 1
    this.#nextLsn = header.firstLsn
    this.#durableLsn = header.firstLsn - 1
    this.#clockMs = header.clockMs
    this.#prepareSpare()
    if (this.#settings.sync === 'interval') this.#armSync()
  }

  get nextLsn(): Lsn {
    return this.#nextLsn
  }

  get durableLsn(): Lsn {
    return this.#durableLsn
  }

  /** The segment that takes the records, and where its durable part ends. */
  get segment(): SealedSegment {
    return { name: this.#segment.name, header: this.#segment.header, end: this.#segmentEnd() }
  }

  append(firstLsn: Lsn, records: Uint8Array | readonly Uint8Array[], claim?: Claim): Promise<Lsn> {
    const bytes =
      records instanceof Uint8Array ? recordHeaderBytes + records.length : sizeOf(records)
    const refusal = this.#refusal(firstLsn, records, bytes, claim)
    if (refusal !== undefined) return Promise.reject(refusal)
    claim?.release()
    const batch = this.#batchFor(bytes)
    if (records instanceof Uint8Array) {
      batch.add(records)
      this.#nextLsn++
    } else {
      batch.addAll(records, bytes)
      this.#nextLsn += records.length
    }
    if (this.#isBusy()) return batch.durable
    if (batch.length >= eagerBatchBytes) this.#pump()
    else this.#schedule()
    return batch.durable
  }

  /** Sets room aside, or fails with `WAL_NO_SPACE`. */
  claim(bytes: number, urgency: Urgency): Claim {
    if (this.#mode !== 'open') throw this.#notOpen()
    const refusal = this.#noRoom(bytes, urgency)
    if (refusal !== undefined) throw refusal
    this.#claimedBytes += bytes
    let isHeld = true
    return {
      bytes,
      release: () => {
        if (isHeld) this.#claimedBytes -= bytes
        isHeld = false
      },
    }
  }

  /** Seals the current segment, unless it is empty, and returns where the sealed part of the log ends. */
  async roll(): Promise<void> {
    if (this.#mode === 'open') await this.#whenIdle()
    if (this.#mode !== 'open') throw this.#notOpen()
    if (this.#durableLsn < this.#segment.header.firstLsn) return
    await this.#rollThenPump()
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Waits until all that was appended is durable, then ends the segment. */
  async close(): Promise<void> {
    if (this.#mode === 'closed' || this.#mode === 'closing') return
    this.#markTimer?.cancel()
    this.#syncTimer?.cancel()
    if (this.#mode === 'open') {
      this.#mode = 'closing'
      // Whoever waits for room that a full disk does not have has waited long enough.
      if (this.#spares.isStarved) await this.#spares.close()
      await this.#whenIdle()
    }
    await this.#spares.close()
    if (this.#mode === 'closing') await this.#writeMark()
    if (this.#mode === 'closing' && this.#settings.sync !== 'always') await this.#sync()
    await this.#segment.file.close()
    if (this.#mode === 'closing') this.#mode = 'closed'
  }

  /** Ends the log: nothing is written any more, and whoever waits is told. */
  fail(cause: unknown): void {
    if (this.#mode === 'failed' || this.#mode === 'closed') return
    this.#mode = 'failed'
    const because = cause instanceof Error ? cause.message : String(cause)
    this.#failure =
      cause instanceof WalError
        ? cause
        : new WalError(
            'WAL_FAILED',
            `the log has ended because the disk failed: ${because}. ` +
              'Nothing more is written; open the log again once the disk is sound.',
            { cause },
          )
    this.#markTimer?.cancel()
    this.#syncTimer?.cancel()
    for (const batch of [this.#inFlight, ...this.#full, this.#filling]) batch?.reject(this.#failure)
    this.#inFlight = undefined
    this.#full.length = 0
    this.#filling = undefined
    this.#settings.observer.failed?.(this.#failure)
    this.#tellIdle()
  }

  #refusal(
    firstLsn: Lsn,
    records: Uint8Array | readonly Uint8Array[],
    bytes: number,
    claim: Claim | undefined,
  ): WalError | undefined {
    if (this.#mode !== 'open') return this.#notOpen()
    const count = records instanceof Uint8Array ? 1 : records.length
    const { appendBytesMax, recordBytesMax } = this.#settings
    if (count === 0) return new WalError('WAL_EMPTY_APPEND', 'an append needs at least one record')
    if (bytes > appendBytesMax) {
      return count === 1
        ? new WalError(
            'WAL_RECORD_TOO_LARGE',
            `the record has ${bytes - recordHeaderBytes} bytes; the most is ${recordBytesMax}. ` +
              'Raise appendBytesMax to allow more.',
          )
        : new WalError(
            'WAL_APPEND_TOO_LARGE',
            `${count} records make ${bytes} bytes; the most for one append is ${appendBytesMax}. ` +
              'Append them in several calls, or raise appendBytesMax.',
          )
    }
    if (firstLsn !== this.#nextLsn || firstLsn + count - 1 > lsnMax) {
      return new WalError(
        'WAL_LSN_MISMATCH',
        `the append says that its first record is LSN ${firstLsn}; the next one is ${this.#nextLsn}`,
      )
    }
    if (claim !== undefined && claim.bytes >= bytes) return undefined
    return this.#noRoom(bytes, 'high')
  }

  #notOpen(): WalError {
    return this.#failure ?? new WalError('WAL_CLOSED', 'the log is closed')
  }

  /**
   * While segments can be made there is always room. When they cannot, the rest of the current one
   * is all there is, and each class of urgency stops short of the next.
   */
  #noRoom(bytes: number, urgency: Urgency): WalError | undefined {
    if (!this.#spares.isStarved) return undefined
    const { segmentBytes } = this.#segment.header
    const waiting = [this.#inFlight, ...this.#full, this.#filling]
    const used =
      this.#end +
      waiting.reduce((sum, batch) => sum + (batch?.length ?? 0) + batchOverheadBytes, 0) +
      this.#claimedBytes
    const keptBack = segmentBytes * shareKeptBack[urgency]
    // A batch that this one may have to open, and a last sync mark.
    const needed = bytes + 2 * batchOverheadBytes
    if (used + needed + keptBack <= segmentBytes) return undefined
    return new WalError(
      'WAL_NO_SPACE',
      `the disk is full: ${Math.max(0, segmentBytes - used)} bytes are left of the last segment, ` +
        `of which ${Math.ceil(keptBack)} are kept for more urgent records. ` +
        'Make room on the disk; the log goes on by itself.',
    )
  }

  /** The batch that takes an append of this size. */
  #batchFor(bytes: number): FillingBatch {
    const filling = this.#filling
    if (filling !== undefined) {
      if (filling.length - batchHeaderBytes + bytes <= this.#settings.appendBytesMax) return filling
      this.#full.push(filling)
    }
    this.#filling = new FillingBatch(this.#nextLsn, this.#buffers.pop())
    return this.#filling
  }

  #isBusy(): boolean {
    return this.#inFlight !== undefined || this.#isRolling || this.#mode === 'failed'
  }

  /** Writes once the input that is ready now has been handled, so that all of it shares the batch. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#settings.clock.soon(() => {
      this.#isScheduled = false
      this.#pump()
    })
  }

  /** Begins to write the next batch, unless one is on its way. */
  #pump(): void {
    if (this.#isBusy()) return
    const batch = this.#full[0] ?? this.#filling
    if (batch === undefined) {
      this.#tellIdle()
      return
    }
    const offset = nextBatchOffset(this.#end)
    if (offset + batch.length > this.#segment.header.segmentBytes) {
      void this.#rollThenPump()
      return
    }
    if (this.#full.shift() === undefined) this.#filling = undefined
    this.#inFlight = batch
    const chain = this.#seal(batch, offset)
    const startedMs = this.#settings.clock.monotonicMs()
    if (this.#goesOnLoop(batch)) {
      try {
        writeFullyOnLoop(this.#segment.file, batch.bytes, offset)
      } catch (error) {
        this.fail(error)
        return
      }
      this.#committed(batch, offset, chain, startedMs, true)
    } else {
      writeFully(this.#segment.file, batch.bytes, offset).then(
        () => this.#committed(batch, offset, chain, startedMs, false),
        (error: unknown) => this.fail(error),
      )
    }
  }

  /**
   * A lone append is written on the event loop: it saves the way to the thread pool and back, and
   * nobody else is waiting. Unless the disk has turned slow, when standing still would cost more.
   */
  #goesOnLoop(batch: FillingBatch): boolean {
    if (this.#writesOffLoop > 0) {
      this.#writesOffLoop--
      return false
    }
    return batch.appends <= 1
  }

  /** Fills in the batch's header and returns its CRC. */
  #seal(batch: FillingBatch, offset: number): number {
    const { bytes } = batch
    const body = bytes.subarray(batchHeaderBytes)
    return encodeBatchHeader(
      bytes,
      {
        batch: this.#batchNumber,
        firstLsn: batch.firstLsn,
        count: batch.count,
        bodyBytes: body.length,
        bodyCrc: crc32(body),
        chain: this.#chain,
        epoch: this.#segment.header.epoch,
        zeroSectors: countZeroSectors(body, offset + batchHeaderBytes),
        clockMs: this.#now(),
        unsyncedBefore: this.#batchNumber - 1 - this.#syncedThrough,
      },
      this.#place.crcAt(offset),
    )
  }

  #committed(
    batch: FillingBatch,
    offset: number,
    chain: number,
    startedMs: number,
    onLoop: boolean,
  ): void {
    if (this.#mode === 'failed') return
    const { clock, observer, sync } = this.#settings
    const nowMs = clock.monotonicMs()
    const durationMs = nowMs - startedMs
    if (onLoop && durationMs > slowWriteMs) this.#writesOffLoop = writesOffLoopAfterSlowOne
    this.#inFlight = undefined
    this.#end = offset + batch.length
    this.#chain = chain
    if (sync === 'always') this.#syncedThrough = this.#batchNumber
    this.#batchNumber++
    this.#durableLsn = batch.lastLsn
    this.#lastCommitMs = nowMs
    this.#isMarked = batch.count === 0
    batch.resolve(batch.lastLsn)
    this.#recycle(batch)
    observer.committed?.({
      records: batch.count,
      appends: batch.appends,
      bytes: batch.length,
      durationMs,
      onLoop,
    })
    const next = this.#full[0] ?? this.#filling
    // The thread pool writes while those who waited go on; on the loop they have to come first.
    if (next !== undefined && this.#full.length === 0 && next.appends <= 1) this.#schedule()
    else this.#pump()
    this.#armMark()
  }

  #recycle(batch: FillingBatch): void {
    const isOrdinary = batch.buffer.length <= 2 * this.#settings.appendBytesMax
    if (isOrdinary && this.#buffers.length < 3) this.#buffers.push(batch.buffer)
  }

  async #rollThenPump(): Promise<void> {
    this.#isRolling = true
    try {
      await this.#rollSegment()
    } catch (error) {
      this.#isRolling = false
      this.fail(error)
      return
    }
    this.#isRolling = false
    this.#pump()
  }

  async #rollSegment(): Promise<void> {
    const { disk, clock, observer, sync } = this.#settings
    const startedMs = clock.monotonicMs()
    const sealed = this.#segment
    if (sync !== 'always') await this.#sync()
    const spare = await this.#spares.take()
    await refuseIfSuperseded(disk, this.#layout, sealed.header)
    const header: FileHeader = {
      ...sealed.header,
      sequence: sealed.header.sequence + 1,
      firstLsn: this.#durableLsn + 1,
      clockMs: this.#now(),
      segmentBytes: spare.bytes,
      firstBatch: this.#batchNumber,
      previous: this.#segmentEnd(),
      gap: 'none',
    }
    const mode = sync === 'always' ? 'durable' : 'write'
    this.#segment = await beginSegment(disk, this.#layout, spare.path, header, mode)
    this.#onSealed({ name: sealed.name, header: sealed.header, end: header.previous })
    this.#place = new Place(header.logId, header.sequence)
    this.#end = fileHeaderBytes
    this.#chain = this.#segment.headerCrc
    await sealed.file.close()
    this.#prepareSpare()
    observer.rolled?.({ segment: this.#segment.name, durationMs: clock.monotonicMs() - startedMs })
  }

  #prepareSpare(): void {
    const { segmentBytes } = this.#settings
    this.#spares.prepare(Math.min(segmentBytes, 2 * this.#segment.header.segmentBytes))
  }

  #segmentEnd(): SegmentEnd {
    return {
      sequence: this.#segment.header.sequence,
      offset: this.#end,
      lastLsn: this.#durableLsn,
      chain: this.#chain,
    }
  }

  /** The clock as the log carries it: it never goes back. */
  #now(): number {
    this.#clockMs = Math.max(this.#clockMs, this.#settings.clock.now())
    return this.#clockMs
  }

  #armMark(): void {
    if (this.#markTimer !== undefined || this.#isMarked || this.#mode !== 'open') return
    this.#markTimer = this.#settings.clock.setTimer(syncMarkDelayMs, () => {
      this.#markTimer = undefined
      const idleMs = this.#settings.clock.monotonicMs() - this.#lastCommitMs
      if (idleMs < syncMarkDelayMs) this.#armMark()
      else void this.#writeMark()
    })
  }

  /** Proves the last data batch by a batch without records, if there is room and nothing else to write. */
  async #writeMark(): Promise<void> {
    const offset = nextBatchOffset(this.#end)
    const fits = offset + batchHeaderBytes <= this.#segment.header.segmentBytes
    if (this.#isMarked || !fits || this.#isBusy() || this.#filling !== undefined) return
    const mark = new FillingBatch(this.#nextLsn, this.#buffers.pop())
    this.#filling = mark
    this.#pump()
    // A failure ends the log as every failed write does, and is told as such.
    await mark.durable.catch(() => {})
  }

  #armSync(): void {
    this.#syncTimer = this.#settings.clock.setTimer(this.#settings.syncIntervalMs, () => {
      void this.#sync().then(() => {
        if (this.#mode === 'open') this.#armSync()
      })
    })
  }

  async #sync(): Promise<void> {
    const through = this.#batchNumber - 1
    const { file } = this.#segment
    if (through === this.#syncedThrough) return
    try {
      await file.sync()
      this.#syncedThrough = Math.max(this.#syncedThrough, through)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Resolves when nothing is on its way to the disk and nothing waits to be. */
  #whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve)
      this.#pump()
    })
  }

  #tellIdle(): void {
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }
}

function sizeOf(records: readonly Uint8Array[]): number {
  let bytes = 0
  for (const record of records) bytes += recordHeaderBytes + record.length
  return bytes
}

function writeFullyOnLoop(file: SegmentFile['file'], bytes: Uint8Array, position: number): void {
  let length = 0
  while (length < bytes.length) {
    const count = file.writeOnLoop(bytes.subarray(length), position + length)
    if (count === 0) throw new Error(`the disk took ${length} of ${bytes.length} bytes`)
    length += count
  }
}
