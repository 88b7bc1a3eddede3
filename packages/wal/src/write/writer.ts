import type { Timer } from '@tenure/seams'
import { writeFully, writeFullyOnLoop } from '../disk/files.js'
import { failureOf, noSpaceToClose, noSpaceToRoll, WalError } from '../errors.js'
import type { SealedBatch } from '../format/batch.js'
import type { HeadFile } from '../format/head.js'
import type { Layout } from '../format/layout.js'
import { syncMarkDelayMs } from '../format/limits.js'
import { type Lsn, lsnMax } from '../lsn.js'
import type { LogSettings } from '../options.js'
import { BatchQueue } from './batch-queue.js'
import type { FillingBatch } from './filling-batch.js'
import { isBytes, type Records, refuseMalformed, sizeOf } from './records.js'
import {
  beginSegment,
  type PreparedFile,
  type SealedSegment,
  type SegmentFile,
} from './segment-file.js'
import { type Claim, SpaceBudget, type Urgency } from './space-budget.js'
import type { SpareKeeper } from './spare.js'
import { Tail } from './tail.js'

type Mode = 'open' | 'closing' | 'closed' | 'failed'

/** If a write takes longer than this, the next one runs in the thread pool. */
const slowWriteMs = 1
/** Maximum number of event loop turns for which a batch waits for more appends. */
const gatheringTurnsMax = 4

/**
 * Group commit: all appends during one write form the next batch. One batch is in flight at a time, so
 * each batch proves that the previous ones are durable.
 *
 *     open ──close──▶ closing ──▶ closed
 *       └──a write or sync fails──▶ failed
 *
 * Only `#pump` starts an operation on the segment (a batch, a roll), and only one at a time.
 */
export class Writer {
  readonly #settings: LogSettings
  readonly #layout: Layout
  readonly #spares: SpareKeeper
  readonly #headFile: HeadFile
  readonly #budget: SpaceBudget
  readonly #tail: Tail
  readonly #onSealed: (sealed: SealedSegment) => void

  #mode: Mode = 'open'
  #failure: WalError | undefined

  #started: Promise<void> | undefined
  #nextLsn: Lsn
  readonly #batches: BatchQueue
  #isRolling = false
  /** When a batch started to wait for a segment that is still being prepared. */
  #blockedSinceMs: number | undefined
  /** Callers that wait for a roll. */
  #rollRequests: Array<{ resolve: () => void; reject: (error: WalError) => void }> = []
  #idle: Array<() => void> = []
  /** Disk calls that have not returned. The files stay open until they have. */
  readonly #underway = new Set<Promise<void>>()

  #isScheduled = false
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
    this.#tail = new Tail(options.segment, options.settings.clock)
    this.#nextLsn = this.#tail.durableLsn + 1
    this.#batches = new BatchQueue(options.settings.appendBytesMax, this.#tail.sharedEpoch)
    this.#budget = new SpaceBudget({
      isStarved: () => this.#spares.isStarved,
      segmentBytes: () => this.#tail.segmentBytes,
      usedBytes: () => this.#usedBytes,
    })
    void this.#prepareNext()
    if (this.#settings.sync === 'interval') this.#armSync()
  }

  get nextLsn(): Lsn {
    return this.#nextLsn
  }

  get durableLsn(): Lsn {
    return this.#tail.durableLsn
  }

  get starts(): number {
    return this.#tail.starts
  }

  /** The segment that receives the records, and where its durable part ends. */
  get segment(): SealedSegment {
    return this.#tail.sealed
  }

  /** The used share of the current segment. It exceeds 1 when batches wait for the next segment. */
  get usedShare(): number {
    return this.#usedBytes / this.#tail.segmentBytes
  }

  append(firstLsn: Lsn, records: Records, claim?: Claim): Promise<Lsn> {
    const bytes = sizeOf(records)
    const refusal = this.#refusal(firstLsn, records, bytes, claim)
    if (refusal !== undefined) return Promise.reject(refusal)
    const batch = this.#batches.batchFor(bytes, this.#nextLsn)
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

  /** Marks this open as started. Every later batch includes the new count. */
  markStarted(): Promise<void> {
    this.#started ??= this.#writeStart()
    return this.#started
  }

  /** Reserves space, or fails with `WAL_NO_SPACE`. */
  claim(bytes: number, urgency: Urgency): Claim {
    if (this.#mode !== 'open') throw this.#notOpen()
    return this.#budget.claim(bytes, urgency)
  }

  get sharedEpoch(): number {
    return this.#batches.sharedEpoch
  }

  /** For a copy: later records were decided in this epoch of the shared log. */
  enterEpoch(sharedEpoch: number): void {
    this.#batches.enterEpoch(sharedEpoch)
  }

  /** Seals the current segment, unless it is empty, as soon as the batch in flight is durable. */
  roll(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#mode !== 'open') reject(this.#notOpen())
      else if (this.#spares.isStarved) reject(noSpaceToRoll())
      else {
        this.#rollRequests.push({ resolve, reject })
        this.#pump()
      }
    })
  }

  /** A spare is ready, or there is no space for one. */
  spareChanged(): void {
    if (this.#spares.isStarved) this.#rejectRolls(noSpaceToRoll())
    this.#pump()
  }

  /** Waits until all appended records are durable, then closes the segment. */
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
      await this.#tail.segment.file.close()
      await this.#headFile.close()
      if (this.#mode === 'closing') this.#mode = 'closed'
    }
    if (this.#mode === 'closed') await this.#spares.leaveSpare()
  }

  /** Stops the log after a failure and rejects everything that waits. */
  fail(cause: unknown): void {
    if (this.#mode === 'failed' || this.#mode === 'closed') return
    this.#mode = 'failed'
    this.#failure = cause instanceof WalError ? cause : failureOf(cause)
    this.#spares.stop()
    this.#markTimer?.cancel()
    this.#syncTimer?.cancel()
    this.#batches.rejectAll(this.#failure)
    this.#rejectRolls(this.#failure)
    this.#settings.observer.failed?.(this.#failure)
    this.#tellIdle()
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
        `the append starts at LSN ${firstLsn}, but the next LSN is ${this.#nextLsn}; read nextLsn before each append`,
      )
    }
    const isClaimed = claim !== undefined && this.#budget.spend(claim) && claim.bytes >= bytes
    return isClaimed ? undefined : this.#budget.refusal(bytes, 'high')
  }

  #notOpen(): WalError {
    return this.#failure ?? new WalError('WAL_CLOSED', 'the log is closed')
  }

  get #usedBytes(): number {
    return this.#tail.end + this.#batches.bytes
  }

  #isBusy(): boolean {
    return this.#batches.isInFlight || this.#isRolling || this.#mode === 'failed'
  }

  /**
   * Writes after all input that is ready has been handled, so that it shares one batch. If that was
   * more than one append, waits until no more arrive: clients answered together send their next
   * requests together, and otherwise half of them would wait for a second write.
   */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#gather(1, gatheringTurnsMax)
  }

  #gather(known: number, turnsLeft: number): void {
    this.#settings.clock.soon(() => {
      const appends = this.#batches.filling?.appends ?? 0
      if (appends > known && turnsLeft > 1) this.#gather(appends, turnsLeft - 1)
      else {
        this.#isScheduled = false
        this.#pump()
      }
    })
  }

  /** Starts the next write or roll, unless one is in progress. */
  #pump(): void {
    if (this.#isBusy()) return
    const batch = this.#batches.next
    const isFull = batch !== undefined && !this.#takes(batch)
    if (isFull || this.#isRollDue()) {
      const prepared = this.#spares.take()
      if (prepared !== undefined) {
        this.#beginRoll(prepared)
        return
      }
    }
    if (isFull) this.#blockedSinceMs ??= this.#settings.clock.monotonicMs()
    // A batch that still fits does not wait for a requested roll.
    if (batch === undefined) this.#tellIdle()
    else if (!isFull) this.#beginWrite(batch)
    else if (this.#mode === 'closing' && this.#spares.isStarved) {
      // The log is closing, so stop waiting for disk space.
      this.#batches.rejectWaiting(noSpaceToClose())
      this.#tellIdle()
    }
  }

  /** Whether the batch belongs into the current segment. An epoch of the shared log begins a segment. */
  #takes({ bodyBytes, sharedEpoch }: FillingBatch): boolean {
    return this.#tail.fits(bodyBytes) && sharedEpoch === this.#tail.sharedEpoch
  }

  /** Whether a caller waits for a roll and the segment contains a record. */
  #isRollDue(): boolean {
    if (this.#tail.isEmpty) for (const request of this.#rollRequests.splice(0)) request.resolve()
    return this.#rollRequests.length > 0
  }

  #beginWrite(batch: FillingBatch): void {
    this.#batches.sent()
    const { file } = this.#tail.segment
    const offset = this.#tail.nextOffset
    const sealed = this.#tail.seal(batch)
    const startedMs = this.#settings.clock.monotonicMs()
    // On a fast disk, writing on the event loop is faster than the round trip through the thread
    // pool, and most requests wait for this write anyway. A slow disk must not block the event
    // loop.
    if (!this.#isDiskSlow) {
      try {
        writeFullyOnLoop(file, sealed.bytes, offset)
      } catch (error) {
        this.fail(error)
        return
      }
      this.#committed(batch, sealed, startedMs, true)
    } else {
      this.#watch(
        writeFully(file, sealed.bytes, offset).then(() =>
          this.#committed(batch, sealed, startedMs, false),
        ),
      )
    }
  }

  /** Keeps the files open until the work is done. Its failure stops the log. */
  #watch(work: Promise<void>): void {
    const watched = work
      .catch((error: unknown) => this.fail(error))
      .finally(() => this.#underway.delete(watched))
    this.#underway.add(watched)
  }

  #committed(batch: FillingBatch, sealed: SealedBatch, startedMs: number, onLoop: boolean): void {
    if (this.#mode === 'failed') return
    const { clock, observer, sync } = this.#settings
    const nowMs = clock.monotonicMs()
    const durationMs = nowMs - startedMs
    this.#isDiskSlow = durationMs > slowWriteMs
    this.#tail.committed(batch, sealed, sync === 'always')
    this.#lastCommitMs = nowMs
    this.#isMarked = batch.count === 0
    this.#batches.durable(batch)
    observer.committed?.({
      records: batch.count,
      appends: batch.appends,
      bytes: sealed.bytes.length,
      durationMs,
      onLoop,
    })
    // After a write in the thread pool, start the next one immediately. After a write on the loop,
    // callers run first, because the next write would block them.
    if (onLoop && this.#batches.filling !== undefined) this.#schedule()
    else this.#pump()
    this.#armMark()
  }

  #beginRoll(prepared: PreparedFile): void {
    this.#isRolling = true
    // Later requests may mean records that are not in this segment.
    const requests = this.#rollRequests.splice(0)
    const work = this.#roll(prepared).then(
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

  async #roll(prepared: PreparedFile): Promise<void> {
    const { clock, observer, sync } = this.#settings
    const startedMs = this.#blockedSinceMs ?? clock.monotonicMs()
    this.#blockedSinceMs = undefined
    const { sealed } = this.#tail
    const { file } = this.#tail.segment
    if (sync !== 'always') await this.#sync()
    await this.#headFile.refuseIfSuperseded(sealed.header)
    const { sharedEpoch } = this.#batches.next ?? this.#batches
    const header = this.#tail.nextHeader(prepared.bytes, sharedEpoch)
    const mode = sync === 'always' ? 'durable' : 'write'
    const next = await beginSegment(prepared, header, this.#headFile, mode)
    this.#tail.continueIn(next)
    this.#onSealed(sealed)
    // The new segment may be the last one that fits on the disk. That must be known before its
    // first batch, because then it keeps space for urgent records.
    await Promise.all([file.close(), this.#prepareNext()])
    observer.rolled?.({ segment: next.name, durationMs: clock.monotonicMs() - startedMs })
  }

  /** Resolves when it is known whether there is space for another segment. */
  #prepareNext(): Promise<void> {
    const { header } = this.#tail.segment
    const bytes = Math.min(this.#settings.segmentBytes, 2 * this.#tail.segmentBytes)
    return this.#spares.prepare({ sequence: header.sequence + 1, epoch: header.epoch, bytes })
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

  /**
   * Proves the last data batch with a batch without records, if there is space and nothing else to
   * write.
   */
  async #writeMark(): Promise<void> {
    const fits = this.#tail.fits(0)
    if (this.#isMarked || !fits || this.#isBusy() || this.#batches.filling !== undefined) return
    // A mark begins no segment for a new epoch: there may be none ready, and after `close` none will be.
    if (this.#batches.sharedEpoch !== this.#tail.sharedEpoch) return
    // Never spend reserved space on a mark.
    if (this.#budget.refusal(0, 'high') !== undefined) return
    const mark = this.#batches.begin(this.#tail.durableLsn + 1)
    this.#pump()
    // A failed write stops the log and is reported there.
    await mark.durable.catch(() => {})
  }

  /** The count is in the batch that is filling, or in a new one without records. */
  async #writeStart(): Promise<void> {
    if (this.#mode !== 'open') throw this.#notOpen()
    const refusal = this.#budget.refusal(0, 'high')
    if (refusal !== undefined) throw refusal
    this.#tail.countStart()
    const filling = this.#batches.begin(this.#nextLsn)
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
    // One at a time: a roll must not close the file during a sync that the timer started.
    this.#syncing = this.#syncing.then(() => this.#tail.sync())
    return this.#syncing
  }

  #tellIdle(): void {
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}
