import { readCheckpoint } from './checkpoint/checkpoint.js'
import { type Chunks, goodCheckpoints, storeCheckpoint } from './checkpoint/checkpoints.js'
import { saysNoSpace, saysNotWritable, systemCode, WalError } from './errors.js'
import { Layout } from './format/layout.js'
import type { Lsn } from './lsn.js'
import { type LogOptions, type LogSettings, resolveOptions, type SyncMode } from './options.js'
import { type DirectoryLock, lockDirectory } from './recover/directory-lock.js'
import type { BadCheckpoint, Gap } from './recover/examination.js'
import { type PreparedLog, prepareLog } from './recover/prepare-log.js'
import { checkedStart, type RecordRange, readRecords, removedError } from './scan/record-range.js'
import type { Records } from './write/records.js'
import type { SealedSegment } from './write/segment-file.js'
import type { Claim, Urgency } from './write/space-budget.js'
import { SpareKeeper } from './write/spare.js'
import { Writer } from './write/writer.js'

/** Findings of opening the log. */
export interface Recovery {
  /** How many times the log has been opened, including this time. */
  readonly epoch: number
  /** How many earlier opens were marked as started. */
  readonly starts: number
  /** Valid records that were read, and the bytes of their segments. */
  readonly records: number
  readonly bytes: number
  readonly durationMs: number
  /** Why a torn write at the end was cut off, if there was one. */
  readonly tornTail: string | undefined
  /** Bytes that were cut off and are kept in `quarantine/`. */
  readonly quarantinedBytes: number
  /**
   * Old segments that a checkpoint covers and that missing segments separate from the log. They
   * stay on the disk but are no longer part of the log.
   */
  readonly strandedSegments: readonly string[]
  /** Checkpoints that could not be used. Recovery used an older one, or the whole log. */
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** The latest time on any earlier writer's clock. */
  readonly latestClockMs: number
}

export interface Truncation {
  readonly segments: number
  readonly bytes: number
  readonly checkpoints: number
}

/** The facts about a segment that a retention policy needs. */
export interface SegmentInfo {
  readonly firstLsn: Lsn
  readonly bytes: number
  /** When the segment was created, on its writer's clock. */
  readonly begunAt: number
}

/** A segment of an open log. */
export interface LogSegment extends SegmentInfo {
  /** The offset at which its content ends. Zeros follow. */
  readonly usedBytes: number
}

export interface TruncateOptions {
  /** Keep the records from this LSN on, even if checkpoints cover them. */
  readonly keepFromLsn?: Lsn | undefined
  /** Checkpoints that `makeCheckpoint` has just verified, so that they are not read again. */
  readonly verified?: readonly Lsn[] | undefined
}

/** Opens the log in the directory. Creates one if the directory is empty or missing. */
export async function openLog(directory: string, options: LogOptions = {}): Promise<Log> {
  const settings = resolveOptions(options)
  const layout = new Layout(directory)
  const { disk, clock } = settings
  const startedMs = clock.monotonicMs()
  let lock: DirectoryLock | undefined
  try {
    lock = await lockDirectory(disk, layout)
    const prepared = await prepareLog(layout, settings)
    return new Log(layout, settings, lock, prepared, clock.monotonicMs() - startedMs)
  } catch (error) {
    await lock?.release()
    throw explain(error, directory)
  }
}

/** Translates an error of the operating system into an error that says what to do. */
function explain(error: unknown, directory: string): unknown {
  if (saysNotWritable(error)) {
    const code = systemCode(error)
    const wayOut = code === 'EROFS' ? 'Mount it read-write' : 'Run as a user with write permission'
    return new WalError('WAL_READ_ONLY', `${directory} is not writable (${code})`, {
      remedy: `${wayOut}, or use openReadOnly`,
      cause: error,
    })
  }
  if (saysNoSpace(error)) {
    return new WalError(
      'WAL_NO_SPACE',
      `the disk of ${directory} has no space for another segment`,
      { remedy: 'Free some space and open the log again', cause: error },
    )
  }
  return error
}

/** An open log. Only one process can have it open, and only once. */
export class Log {
  readonly recovery: Recovery
  /** LSN ranges that were skipped on purpose after a restore or an accepted loss. */
  readonly gaps: readonly Gap[]
  readonly sync: SyncMode

  readonly #layout: Layout
  readonly #settings: LogSettings
  readonly #lock: DirectoryLock
  readonly #writer: Writer
  readonly #spares: SpareKeeper
  readonly #logId: Uint8Array
  /** Oldest first, without the segment that is being written. */
  readonly #sealed: SealedSegment[]
  #checkpointLsn: Lsn
  #tidying: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  /** Use `openLog`. */
  constructor(
    layout: Layout,
    settings: LogSettings,
    lock: DirectoryLock,
    prepared: PreparedLog,
    durationMs: number,
  ) {
    const { examination, segment, pool, hasReserve } = prepared
    const { header } = segment
    this.#layout = layout
    this.#settings = settings
    this.#lock = lock
    this.#logId = header.logId
    this.#sealed = [...examination.segments]
    this.#checkpointLsn = examination.checkpoint?.previous.lastLsn ?? 0
    this.sync = settings.sync
    const gap: Gap[] =
      header.gap === 'none'
        ? []
        : [
            {
              firstLsn: header.previous.lastLsn + 1,
              lastLsn: header.firstLsn - 1,
              reason: header.gap,
            },
          ]
    this.gaps = [...examination.gaps, ...gap]
    this.recovery = {
      epoch: header.epoch,
      starts: header.starts,
      records: examination.records,
      bytes: examination.bytes,
      durationMs,
      tornTail: examination.torn?.why,
      quarantinedBytes: prepared.quarantinedBytes,
      strandedSegments: examination.stranded,
      badCheckpoints: examination.badCheckpoints,
      latestClockMs: examination.latestClockMs,
    }
    this.#spares = new SpareKeeper({
      disk: settings.disk,
      clock: settings.clock,
      layout,
      epoch: header.epoch,
      pool,
      openMode: settings.sync === 'always' ? 'durable' : 'write',
      bytesMin: settings.firstSegmentBytes,
      bytesMax: settings.segmentBytes,
      hasReserve,
      observer: settings.observer,
      isHurried: (share) => this.#writer.usedShare > share,
      onChange: () => this.#writer.spareChanged(),
      onFailure: (error) => this.#writer.fail(error),
    })
    this.#writer = new Writer({
      settings,
      layout,
      spares: this.#spares,
      headFile: prepared.headFile,
      segment,
      onSealed: (sealed) => this.#sealed.push(sealed),
    })
  }

  /** The id that the log got when it was created, as 32 hexadecimal digits. */
  get logId(): string {
    return Buffer.from(this.#logId).toString('hex')
  }

  /** The LSN of the next record. */
  get nextLsn(): Lsn {
    return this.#writer.nextLsn
  }

  /** Every record up to this LSN is durable. */
  get durableLsn(): Lsn {
    return this.#writer.durableLsn
  }

  /** The first LSN that can still be read. */
  get firstLsn(): Lsn {
    return (this.#sealed[0] ?? this.#writer.segment).header.firstLsn
  }

  /** Free space on the log's disk. */
  freeBytes(): Promise<number> {
    return this.#settings.disk.freeBytes(this.#layout.root)
  }

  /** Oldest first. The last segment is the one that is being written. */
  get segments(): LogSegment[] {
    return [...this.#sealed, this.#writer.segment].map(({ header, end }) => ({
      firstLsn: header.firstLsn,
      bytes: header.segmentBytes,
      usedBytes: end.offset,
      begunAt: header.clockMs,
    }))
  }

  /** The last LSN in sealed segments. A checkpoint can cover at most this LSN. */
  get sealedLsn(): Lsn {
    return this.#sealed.at(-1)?.end.lastLsn ?? 0
  }

  /** The LSN of the newest checkpoint's state, or 0 if there is no checkpoint. */
  get checkpointLsn(): Lsn {
    return this.#checkpointLsn
  }

  /**
   * Appends one or more records, all of them or none. The promise resolves when they are durable,
   * with the last LSN that is durable then. `firstLsn` must be `nextLsn`. The caller may have
   * written it into the records, so a different value is rejected before anything is written.
   */
  append(firstLsn: Lsn, records: Records, claim?: Claim): Promise<Lsn> {
    return this.#writer.append(firstLsn, records, claim)
  }

  /**
   * Reserves space for records that do not exist yet, so that a full disk is noticed before they
   * have an LSN. Fails with `WAL_NO_SPACE`, first for the less urgent records.
   */
  claim(bytes: number, urgency: Urgency): Claim {
    return this.#writer.claim(bytes, urgency)
  }

  /**
   * Counts this open as started, in `recovery.starts` of the next open. Repeated calls count once.
   * When the promise resolves, the count is as durable as an append.
   */
  markStarted(): Promise<void> {
    return this.#writer.markStarted()
  }

  /**
   * For a copy: the records appended from now on were decided in this epoch of the shared log. They
   * begin a new segment, so that a reader learns the epochs from the segments' headers.
   */
  enterEpoch(sharedEpoch: number): void {
    if (!this.#settings.copyOf) throw new WalError('WAL_BAD_OPTION', 'only a copy has a shared log')
    this.#writer.enterEpoch(sharedEpoch)
  }

  /** The epoch of the shared log in which the next record is decided. 0 in a log of its own. */
  get sharedEpoch(): number {
    return this.#writer.sharedEpoch
  }

  /** Seals the current segment, unless it is empty, so that a checkpoint can cover it. */
  roll(): Promise<void> {
    return this.#writer.roll()
  }

  /** The durable records from an LSN on. Default: those that the newest checkpoint does not cover. */
  async *replay(options: { readonly fromLsn?: Lsn } = {}): AsyncGenerator<RecordRange> {
    this.#refuseIfClosed()
    const fromLsn = checkedStart(options.fromLsn, this.#checkpointLsn, this.firstLsn)
    const current = this.#writer.segment
    const segments = [...this.#sealed, current].map(({ name, header, end }) => ({
      name,
      firstLsn: header.firstLsn,
      lastLsn: end.lastLsn,
    }))
    try {
      yield* readRecords(this.#settings.disk, this.#layout, segments, fromLsn)
    } catch (error) {
      // A truncation removed a segment during this replay.
      throw systemCode(error) === 'ENOENT' ? removedError(fromLsn, this.firstLsn) : error
    }
  }

  /** The chunks of the newest checkpoint. Each is a view that is valid until the next step. */
  async *readCheckpoint(): AsyncGenerator<Uint8Array> {
    this.#refuseIfClosed()
    if (this.#checkpointLsn === 0) return
    const path = this.#layout.checkpoint(this.#checkpointLsn)
    yield* readCheckpoint(this.#settings.disk, path, this.#checkpointLsn)
  }

  /**
   * Stores the caller's state after `lsn`, which must be the last record of a sealed segment. The
   * checkpoint is read back and verified before it counts.
   */
  writeCheckpoint(lsn: Lsn, chunks: Chunks): Promise<void> {
    return this.#tidy(() => this.#writeCheckpoint(lsn, chunks))
  }

  /**
   * Removes the segments that the older of the two newest good checkpoints covers, and the
   * checkpoints before it. Also notices checkpoints that `makeCheckpoint` has made. An unreadable
   * checkpoint is never removed and never causes a removal.
   */
  truncate(options: TruncateOptions = {}): Promise<Truncation> {
    return this.#tidy(() => this.#truncate(options))
  }

  /** Waits until all appended records are durable, then closes the files and releases the lock. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #writeCheckpoint(lsn: Lsn, chunks: Chunks): Promise<void> {
    const { disk, clock } = this.#settings
    const sealed = this.#sealed.findLast(({ end }) => end.lastLsn === lsn)
    const { era, sharedEpoch } = (sealed ?? this.#writer.segment).header
    const { epoch } = this.recovery
    const { starts } = this.#writer
    const header = { logId: this.#logId, epoch, starts, era, sharedEpoch }
    const facts = { ...header, clockMs: clock.now(), lsn, at: sealed?.end }
    await storeCheckpoint(disk, this.#layout, facts, chunks)
    this.#checkpointLsn = Math.max(this.#checkpointLsn, lsn)
  }

  async #truncate({ keepFromLsn, verified = [] }: TruncateOptions): Promise<Truncation> {
    const { disk } = this.#settings
    const segmentsNow = [...this.#sealed, this.#writer.segment]
    const good = await goodCheckpoints(disk, this.#layout, segmentsNow, verified)
    const [newest = 0, older] = good
    this.#checkpointLsn = Math.max(this.#checkpointLsn, newest)
    if (older === undefined) return { segments: 0, bytes: 0, checkpoints: 0 }
    const superfluous = good.slice(2)
    // Checkpoints first. One that outlived its segments could later count as the older of the
    // newest two, and the segments removed here would then be missing.
    for (const lsn of superfluous) await disk.remove(this.#layout.checkpoint(lsn))
    await disk.syncDirectory(this.#layout.checkpoints)
    const through = Math.min(older, (keepFromLsn ?? Number.POSITIVE_INFINITY) - 1)
    let segments = 0
    let bytes = 0
    // An earlier truncation may have failed at its last sync.
    await disk.syncDirectory(this.#layout.segments)
    for (;;) {
      const oldest = this.#sealed[0]
      if (oldest === undefined || oldest.end.lastLsn > through) break
      // Oldest first, with a sync after each removal, so that a crash leaves no hole. After a
      // failed sync a removed segment may come back. It is then stranded, and the log works without
      // it.
      const spare = await this.#spares.recycle(oldest)
      this.#sealed.shift()
      await disk.syncDirectory(this.#layout.segments)
      // Only now, because a segment whose removal is not durable must keep its content.
      if (spare !== undefined) this.#spares.add(spare)
      segments++
      bytes += oldest.header.segmentBytes
    }
    if (segments > 0) this.#spares.truncated()
    return { segments, bytes, checkpoints: superfluous.length }
  }

  async #close(): Promise<void> {
    try {
      await this.#tidying
      await this.#writer.close()
    } finally {
      await this.#lock.release()
    }
  }

  /** Runs checkpoints and truncations one at a time. `close` waits for them. */
  async #tidy<T>(work: () => Promise<T>): Promise<T> {
    this.#refuseIfClosed()
    const result = this.#tidying.then(work)
    this.#tidying = result.then(
      () => {},
      () => {},
    )
    return result
  }

  #refuseIfClosed(): void {
    if (this.#closing !== undefined) throw new WalError('WAL_CLOSED', 'the log is closed')
  }
}
