import { crc32 } from 'node:zlib'
import type { Timer } from '@tenure/seams'
import { writeFully } from '../disk/files.js'
import { WalError } from '../errors.js'
import { countZeroSectors, encodeBatchHeader, nextBatchOffset, Place } from '../format/batch.js'
import type { FileHeader, SegmentEnd } from '../format/file-header.js'
import type { HeadFile } from '../format/head.js'
import type { Layout } from '../format/layout.js'
import {
  batchHeaderBytes,
  batchOverheadBytes,
  fileHeaderBytes,
  syncMarkDelayMs,
} from '../format/limits.js'
import { type Lsn, lsnMax } from '../lsn.js'
import type { LogSettings } from '../options.js'
import { FillingBatch } from './filling-batch.js'
import { isBytes, type Records, refuseMalformed, sizeOf } from './records.js'
import { type Claim, Room, type Urgency } from './room.js'
import { beginSegment, type SealedSegment, type SegmentFile } from './segment-file.js'
import type { Spare, SpareKeeper } from './spare.js'

type Mode = 'open' | 'closing' | 'closed' | 'failed'

/** After a write that takes longer the next one goes to the thread pool. */
const slowWriteMs = 1
/** How many turns of the event loop a batch waits for more at most. */
const gatheringTurnsMax = 4

/**
 * Appends by group commit. What is appended while one batch is on its way to the disk makes up the
 * next; one batch is in flight at a time, and a later one therefore proves the ones before.
 *
 *     open ──close──▶ closing ──▶ closed
 *       └──a write or sync fails──▶ failed
 *
 * Whatever changes the segment (a batch, a roll) is begun by `#pump` and by nobody else, and only
 * when nothing else is on its way.
 */
export class Writer {
  readonly #settings: LogSettings
  readonly #layout: Layout
  readonly #spares: SpareKeeper
  readonly #headFile: HeadFile
  readonly #room: Room
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
  /** How many openings have been marked as started: what the next batch says. */
  #starts: number
  #started: Promise<void> | undefined

  #nextLsn: Lsn
  #filling: FillingBatch | undefined
  /** Batches that are full and wait for their turn. */
  readonly #full: FillingBatch[] = []
  #inFlight: FillingBatch | undefined
  #isRolling = false
  /** Since when a batch waits for a segment that is still being made. */
  #blockedSinceMs: number | undefined
  /** Who asked for a roll, and how to tell them. */
  #rollRequests: Array<{ resolve: () => void; reject: (error: WalError) => void }> = []
  #idle: Array<() => void> = []
  /** Calls to the disk that have not returned. The files stay open until they have. */
  readonly #underway = new Set<Promise<void>>()

  #isScheduled = false
  #buffers: Uint8Array[] = []
  #isDiskSlow = false

  #lastCommitMs = 0
  #isMarked = true
  #markTimer: Timer | undefined
  #syncTimer: Timer | undefined
  #syncing: Promise<void> = Promise.resolve()

  constructor(options: {
    settings: LogSettings
    layout: Layout
    spares: SpareKeeper
    headFile: HeadFile
    segment: SegmentFile
    onSealed: (sealed: SealedSegment) => void
  }) {
    this.#settings = options.settings
    this.#layout = options.layout
    this.#spares = options.spares
    this.#headFile = options.headFile
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
    this.#starts = header.starts
    this.#room = new Room({
      isStarved: () => this.#spares.isStarved,
      segmentBytes: () => this.#segment.header.segmentBytes,
      usedBytes: () => this.#usedBytes(),
    })
    void this.#prepareSpare()
    if (this.#settings.sync === 'interval') this.#armSync()
  }

  get nextLsn(): Lsn {
    return this.#nextLsn
  }

  get durableLsn(): Lsn {
    return this.#durableLsn
  }

  get starts(): number {
    return this.#starts
  }

  /** The segment that takes the records, and where its durable part ends. */
  get segment(): SealedSegment {
    return { name: this.#segment.name, header: this.#segment.header, end: this.#segmentEnd() }
  }

  /** How much of the segment in use is taken; more than all of it when something waits for the next. */
  get usedShare(): number {
    return this.#usedBytes() / this.#segment.header.segmentBytes
  }

  append(firstLsn: Lsn, records: Records, claim?: Claim): Promise<Lsn> {
    const bytes = sizeOf(records)
    const refusal = this.#refusal(firstLsn, records, bytes, claim)
    if (refusal !== undefined) return Promise.reject(refusal)
    const batch = this.#batchFor(bytes)
    if (isBytes(records)) {
      batch.add(records)
      this.#nextLsn++
    } else {
      batch.addAll(records, bytes)
      this.#nextLsn += records.length
    }
    if (!this.#isBusy()) this.#schedule()
    return batch.durable
  }

  /** Counts this opening as one that came to work. The count is in every batch from now on. */
  markStarted(): Promise<void> {
    this.#started ??= this.#writeStart()
    return this.#started
  }

  /** Sets room aside, or fails with `WAL_NO_SPACE`. */
  claim(bytes: number, urgency: Urgency): Claim {
    if (this.#mode !== 'open') throw this.#notOpen()
    return this.#room.claim(bytes, urgency)
  }

  /** Seals the current segment, unless it is empty, as soon as the batch on its way is durable. */
  roll(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#mode !== 'open') reject(this.#notOpen())
      else if (this.#spares.isStarved) reject(noRoomToRoll())
      else {
        this.#rollRequests.push({ resolve, reject })
        this.#pump()
      }
    })
  }

  /** A spare is ready, or there is no room for one. */
  spareChanged(): void {
    if (this.#spares.isStarved) this.#rejectRolls(noRoomToRoll())
    this.#pump()
  }

  /** Waits until all that was appended is durable, then ends the segment. */
  async close(): Promise<void> {
    if (this.#mode === 'open') {
      this.#mode = 'closing'
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve)
        this.#pump()
      })
      this.#rejectRolls(this.#notOpen())
    }
    this.#markTimer?.cancel()
    this.#syncTimer?.cancel()
    this.#spares.stop()
    try {
      if (this.#mode === 'closing') await this.#writeMark()
      if (this.#mode === 'closing' && this.#settings.sync !== 'always') await this.#sync()
    } catch (error) {
      this.fail(error)
      throw this.#notOpen()
    } finally {
      await Promise.all(this.#underway)
      await this.#spares.stopped()
      await this.#segment.file.close()
      await this.#headFile.close()
      if (this.#mode === 'closing') this.#mode = 'closed'
    }
  }

  /** Ends the log: nothing is written any more, and whoever waits is told. */
  fail(cause: unknown): void {
    if (this.#mode === 'failed' || this.#mode === 'closed') return
    this.#mode = 'failed'
    this.#failure = cause instanceof WalError ? cause : failureOf(cause)
    this.#spares.stop()
    this.#markTimer?.cancel()
    this.#syncTimer?.cancel()
    this.#inFlight?.reject(this.#failure)
    this.#rejectWaiting(this.#failure)
    this.#rejectRolls(this.#failure)
    this.#settings.observer.failed?.(this.#failure)
    this.#tellIdle()
  }

  #rejectWaiting(error: WalError): void {
    for (const batch of [...this.#full.splice(0), this.#filling]) batch?.reject(error)
    this.#filling = undefined
  }

  #rejectRolls(error: WalError): void {
    for (const request of this.#rollRequests.splice(0)) request.reject(error)
  }

  #refusal(
    firstLsn: Lsn,
    records: Records,
    bytes: number,
    claim: Claim | undefined,
  ): WalError | undefined {
    if (this.#mode !== 'open') return this.#notOpen()
    const malformed = refuseMalformed(records, bytes, this.#settings)
    if (malformed !== undefined) return malformed
    const count = isBytes(records) ? 1 : records.length
    if (firstLsn !== this.#nextLsn || firstLsn + count - 1 > lsnMax) {
      return new WalError(
        'WAL_LSN_MISMATCH',
        `the append says that its first record is LSN ${firstLsn}; the next one is ${this.#nextLsn}`,
      )
    }
    const isClaimed = claim !== undefined && this.#room.spend(claim) && claim.bytes >= bytes
    return isClaimed ? undefined : this.#room.refusal(bytes, 'high')
  }

  #notOpen(): WalError {
    return this.#failure ?? new WalError('WAL_CLOSED', 'the log is closed')
  }

  #usedBytes(): number {
    let bytes = this.#end
    for (const batch of [this.#inFlight, ...this.#full, this.#filling]) {
      if (batch !== undefined) bytes += batch.length + batchOverheadBytes
    }
    return bytes
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

  /**
   * Writes once the input that is ready now has been handled, so that all of it shares the batch; and
   * where that was more than one append, once no more comes: what many have been answered at once they
   * follow with their next ones, and half of them would else wait for a second write.
   */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#gather(1, gatheringTurnsMax)
  }

  #gather(known: number, turnsLeft: number): void {
    this.#settings.clock.soon(() => {
      const appends = this.#filling?.appends ?? 0
      if (appends > known && turnsLeft > 1) this.#gather(appends, turnsLeft - 1)
      else {
        this.#isScheduled = false
        this.#pump()
      }
    })
  }

  /** Begins what is to be done next, unless something is on its way. */
  #pump(): void {
    if (this.#isBusy()) return
    const batch = this.#full[0] ?? this.#filling
    const isFull = batch !== undefined && !this.#fits(batch)
    if (isFull || this.#isRollDue()) {
      const spare = this.#spares.take()
      if (spare !== undefined) {
        this.#beginRoll(spare)
        return
      }
    }
    if (isFull) this.#blockedSinceMs ??= this.#settings.clock.monotonicMs()
    // A batch that still fits need not wait for the spare that somebody's roll waits for.
    if (batch === undefined) this.#tellIdle()
    else if (!isFull) this.#beginWrite(batch)
    else if (this.#mode === 'closing' && this.#spares.isStarved) {
      // Whoever waits for room while the log closes has waited enough.
      this.#rejectWaiting(noRoomToClose())
      this.#tellIdle()
    }
  }

  /** Whether somebody waits for a roll of a segment that holds something. */
  #isRollDue(): boolean {
    const isEmpty = this.#durableLsn < this.#segment.header.firstLsn
    if (isEmpty) for (const request of this.#rollRequests.splice(0)) request.resolve()
    return this.#rollRequests.length > 0
  }

  #fits(batch: FillingBatch): boolean {
    return nextBatchOffset(this.#end) + batch.length <= this.#segment.header.segmentBytes
  }

  #beginWrite(batch: FillingBatch): void {
    if (this.#full.shift() === undefined) this.#filling = undefined
    this.#inFlight = batch
    const offset = nextBatchOffset(this.#end)
    const chain = this.#seal(batch, offset)
    const startedMs = this.#settings.clock.monotonicMs()
    // While the disk is quick, writing on the event loop is quicker than the way to the thread pool and
    // back, and whoever could use the loop meanwhile waits for this write anyway. When the disk turns
    // slow the loop has better things to do.
    if (!this.#isDiskSlow) {
      try {
        writeFullyOnLoop(this.#segment.file, batch.bytes, offset)
      } catch (error) {
        this.fail(error)
        return
      }
      this.#committed(batch, offset, chain, startedMs, true)
    } else {
      this.#watch(
        writeFully(this.#segment.file, batch.bytes, offset).then(() =>
          this.#committed(batch, offset, chain, startedMs, false),
        ),
      )
    }
  }

  /** Keeps the files open until the work is done, and lets its failure end the log. */
  #watch(work: Promise<void>): void {
    const watched = work
      .catch((error: unknown) => this.fail(error))
      .finally(() => this.#underway.delete(watched))
    this.#underway.add(watched)
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
        starts: this.#starts,
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
    this.#isDiskSlow = durationMs > slowWriteMs
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
    // The thread pool writes on while those who waited take their turn; on the loop they come first.
    if (onLoop && this.#filling !== undefined) this.#schedule()
    else this.#pump()
    this.#armMark()
  }

  #recycle(batch: FillingBatch): void {
    const isOrdinary = batch.buffer.length <= 2 * this.#settings.appendBytesMax
    if (isOrdinary && this.#buffers.length < 3) this.#buffers.push(batch.buffer)
  }

  #beginRoll(spare: Spare): void {
    this.#isRolling = true
    // Those who ask from now on may mean records that are not in this segment.
    const requests = this.#rollRequests.splice(0)
    const work = this.#roll(spare).then(
      () => {
        this.#isRolling = false
        for (const request of requests) request.resolve()
        this.#pump()
      },
      (error: unknown) => {
        this.#isRolling = false
        this.fail(error)
        for (const request of requests) request.reject(this.#notOpen())
      },
    )
    this.#watch(work)
  }

  async #roll(spare: Spare): Promise<void> {
    const { disk, clock, observer, sync } = this.#settings
    const startedMs = this.#blockedSinceMs ?? clock.monotonicMs()
    this.#blockedSinceMs = undefined
    const sealed = this.#segment
    if (sync !== 'always') await this.#sync()
    await this.#headFile.refuseIfSuperseded(sealed.header)
    const header: FileHeader = {
      ...sealed.header,
      sequence: sealed.header.sequence + 1,
      firstLsn: this.#durableLsn + 1,
      clockMs: this.#now(),
      segmentBytes: spare.bytes,
      firstBatch: this.#batchNumber,
      previous: this.#segmentEnd(),
      gap: 'none',
      starts: this.#starts,
    }
    const mode = sync === 'always' ? 'durable' : 'write'
    this.#segment = await beginSegment(disk, this.#layout, this.#headFile, spare.path, header, mode)
    this.#onSealed({ name: sealed.name, header: sealed.header, end: header.previous })
    this.#place = new Place(header.logId, header.sequence)
    this.#end = fileHeaderBytes
    this.#chain = this.#segment.headerCrc
    // The new segment may be the last one, and then it keeps room back: that has to be known before its
    // first batch is written.
    await Promise.all([sealed.file.close(), this.#prepareSpare()])
    observer.rolled?.({ segment: this.#segment.name, durationMs: clock.monotonicMs() - startedMs })
  }

  /** Resolves when it is known whether there is room for another segment. */
  #prepareSpare(): Promise<void> {
    const { segmentBytes } = this.#settings
    return this.#spares.prepare(Math.min(segmentBytes, 2 * this.#segment.header.segmentBytes))
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
    this.#markTimer = this.#settings.clock.setTimer(
      syncMarkDelayMs,
      () => {
        this.#markTimer = undefined
        const idleMs = this.#settings.clock.monotonicMs() - this.#lastCommitMs
        if (idleMs < syncMarkDelayMs) this.#armMark()
        else this.#watch(this.#writeMark())
      },
      'background',
    )
  }

  /** Proves the last data batch by a batch without records, if there is room and nothing else to write. */
  async #writeMark(): Promise<void> {
    const offset = nextBatchOffset(this.#end)
    const fits = offset + batchHeaderBytes <= this.#segment.header.segmentBytes
    if (this.#isMarked || !fits || this.#isBusy() || this.#filling !== undefined) return
    // The last room there is belongs to those whom it was promised.
    if (this.#room.refusal(0, 'high') !== undefined) return
    const mark = new FillingBatch(this.#durableLsn + 1, this.#buffers.pop())
    this.#filling = mark
    this.#pump()
    // A failure ends the log as every failed write does, and is told as such.
    await mark.durable.catch(() => {})
  }

  /** The batch that fills will say it; where none does, one without records is written. */
  async #writeStart(): Promise<void> {
    if (this.#mode !== 'open') throw this.#notOpen()
    const refusal = this.#room.refusal(0, 'high')
    if (refusal !== undefined) throw refusal
    this.#starts++
    const filling = this.#filling ?? new FillingBatch(this.#nextLsn, this.#buffers.pop())
    this.#filling = filling
    this.#pump()
    await filling.durable
  }

  #armSync(): void {
    const { clock, syncIntervalMs } = this.#settings
    const sync = async () => {
      await this.#sync()
      if (this.#mode === 'open') this.#armSync()
    }
    this.#syncTimer = clock.setTimer(syncIntervalMs, () => this.#watch(sync()), 'background')
  }

  /** For the modes in which a write is not durable when it returns. */
  #sync(): Promise<void> {
    // One after the other: a roll must not close the file under a sync that the timer began.
    this.#syncing = this.#syncing.then(() => this.#syncOnce())
    return this.#syncing
  }

  async #syncOnce(): Promise<void> {
    const through = this.#batchNumber - 1
    if (through === this.#syncedThrough) return
    await this.#segment.file.sync()
    this.#syncedThrough = Math.max(this.#syncedThrough, through)
  }

  #tellIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}

function noRoomToRoll(): WalError {
  return new WalError('WAL_NO_SPACE', 'the disk is full: there is no room for another segment')
}

function noRoomToClose(): WalError {
  return new WalError('WAL_NO_SPACE', 'the log was closed while it waited for room on the disk')
}

function failureOf(cause: unknown): WalError {
  const because = cause instanceof Error ? cause.message : String(cause)
  return new WalError(
    'WAL_FAILED',
    `the log has ended because the disk failed: ${because}. ` +
      'Nothing more is written; open the log again once the disk is sound.',
    { cause },
  )
}

function writeFullyOnLoop(file: SegmentFile['file'], bytes: Uint8Array, position: number): void {
  let length = 0
  while (length < bytes.length) {
    const count = file.writeOnLoop(bytes.subarray(length), position + length)
    if (count === 0) throw new Error(`the disk took ${length} of ${bytes.length} bytes`)
    length += count
  }
}
