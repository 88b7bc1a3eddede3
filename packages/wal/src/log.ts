import { readCheckpoint } from './checkpoint/checkpoint.js'
import { type Chunks, goodCheckpoints, keepCheckpoint } from './checkpoint/checkpoints.js'
import type { LockAttempt } from './disk/disk.js'
import { removeIfPresent } from './disk/files.js'
import { saysNoSpace, saysNotWritable, systemCode, WalError } from './errors.js'
import { Layout } from './format/layout.js'
import type { Lsn } from './lsn.js'
import { type LogOptions, type LogSettings, type SyncMode, settle } from './options.js'
import type { BadCheckpoint, Gap } from './recover/examination.js'
import { listRoot } from './recover/inventory.js'
import { type Opening, prepareLog } from './recover/opening.js'
import { forgotten, type Run, readRuns, startOf } from './scan/runs.js'
import type { Records } from './write/records.js'
import type { Claim, Urgency } from './write/room.js'
import type { SealedSegment } from './write/segment-file.js'
import { SpareKeeper } from './write/spare.js'
import { Writer } from './write/writer.js'

/** What opening the log found. */
export interface Recovery {
  /** How many times the log has been opened, this time included. */
  readonly epoch: number
  /** How many of the earlier openings were marked as started. */
  readonly starts: number
  /** Records read and found good, and the bytes of the segments they are in. */
  readonly records: number
  readonly bytes: number
  readonly durationMs: number
  /** Why a write at the end was cut off that never returned, if one was. */
  readonly tornTail: string | undefined
  /** Bytes cut off and kept in `quarantine/`. */
  readonly quarantinedBytes: number
  /**
   * Old segments that a checkpoint covers but that others between are missing behind. They are left
   * where they are, and no longer part of the log.
   */
  readonly strandedSegments: readonly string[]
  /** Checkpoints that could not be used; an older one, or the whole log, took their place. */
  readonly badCheckpoints: readonly BadCheckpoint[]
  /** The latest time of any earlier writer's clock. */
  readonly latestClockMs: number
}

export interface Truncation {
  readonly segments: number
  readonly bytes: number
  readonly checkpoints: number
}

/** A file of the log, as whoever decides what to keep has to know it. */
export interface SegmentInfo {
  readonly firstLsn: Lsn
  readonly bytes: number
  /** When it was begun, by its writer's clock. */
  readonly begunAt: number
}

/** The same of an open log. */
export interface LogSegment extends SegmentInfo {
  /** Where what it holds ends. Behind it are zeros. */
  readonly usedBytes: number
}

export interface TruncateOptions {
  /** Keeps the records from here on, however far behind the checkpoints they are. */
  readonly keepFromLsn?: Lsn | undefined
  /** Checkpoints that `makeCheckpoint` has just read back: they are not read once more. */
  readonly verified?: readonly Lsn[] | undefined
}

/** Opens the log in the directory, or begins one where there is none. */
export async function openLog(directory: string, options: LogOptions = {}): Promise<Log> {
  const settings = settle(options)
  const layout = new Layout(directory)
  const { disk, clock } = settings
  const startedMs = clock.monotonicMs()
  let lock: Extract<LockAttempt, { granted: true }> | undefined
  try {
    await listRoot(disk, layout)
    await disk.createDirectory(layout.root)
    const attempt = await disk.lock(layout.lock, `process ${process.pid}`)
    if (!attempt.granted) {
      throw new WalError(
        'WAL_LOCKED',
        `${directory} is in use by ${attempt.holder || 'another process'}. Stop that one first, or name another directory.`,
      )
    }
    lock = attempt
    const opening = await prepareLog(layout, settings)
    return new Log(layout, settings, lock, opening, clock.monotonicMs() - startedMs)
  } catch (error) {
    await lock?.release()
    throw explain(error, directory)
  }
}

/** What the operating system says about a directory, in words of what to do about it. */
function explain(error: unknown, directory: string): unknown {
  if (saysNotWritable(error)) {
    const code = systemCode(error)
    const wayOut = code === 'EROFS' ? 'Mount it for writing' : 'Open it as a user who may write it'
    const message = `${directory} cannot be written (${code}). ${wayOut}, or with openReadOnly.`
    return new WalError('WAL_READ_ONLY', message, { cause: error })
  }
  if (saysNoSpace(error)) {
    return new WalError(
      'WAL_NO_SPACE',
      `${directory} is on a disk without room for another segment. Make room and open the log again.`,
      { cause: error },
    )
  }
  return error
}

/** An open log. Only one process at a time has it, and only one `Log` in that process. */
export class Log {
  readonly recovery: Recovery
  /** LSNs that were never issued, because the log went on beyond them. */
  readonly gaps: readonly Gap[]
  readonly sync: SyncMode

  readonly #layout: Layout
  readonly #settings: LogSettings
  readonly #lock: Extract<LockAttempt, { granted: true }>
  readonly #writer: Writer
  readonly #logId: Uint8Array
  /** Oldest first; the newest segment, which takes the records, is the writer's. */
  readonly #sealed: SealedSegment[]
  #checkpointLsn: Lsn
  #tidying: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  /** For `openLog`. */
  constructor(
    layout: Layout,
    settings: LogSettings,
    lock: Extract<LockAttempt, { granted: true }>,
    opening: Opening,
    durationMs: number,
  ) {
    const { examination, segment, spareBytes, hasReserve } = opening
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
      quarantinedBytes: opening.quarantinedBytes,
      strandedSegments: examination.stranded,
      badCheckpoints: examination.badCheckpoints,
      latestClockMs: examination.latestClockMs,
    }
    const spares = new SpareKeeper({
      disk: settings.disk,
      clock: settings.clock,
      layout,
      epoch: header.epoch,
      bytesMin: settings.firstSegmentBytes,
      hasReserve,
      observer: settings.observer,
      isHurried: (share) => this.#writer.usedShare > share,
      onChange: () => this.#writer.spareChanged(),
      onFailure: (error) => this.#writer.fail(error),
    })
    if (spareBytes !== undefined) spares.adopt(spareBytes)
    this.#writer = new Writer({
      settings,
      layout,
      spares,
      headFile: opening.headFile,
      segment,
      onSealed: (sealed) => this.#sealed.push(sealed),
    })
  }

  /** The LSN that the next record gets. */
  get nextLsn(): Lsn {
    return this.#writer.nextLsn
  }

  /** Every record up to this one is durable. */
  get durableLsn(): Lsn {
    return this.#writer.durableLsn
  }

  /** The first record that can still be read. */
  get firstLsn(): Lsn {
    return (this.#sealed[0] ?? this.#writer.segment).header.firstLsn
  }

  /** How much room there is on the disk beside what the log has taken. */
  freeBytes(): Promise<number> {
    return this.#settings.disk.freeBytes(this.#layout.root)
  }

  /** Oldest first; the last one takes the records. */
  get segments(): LogSegment[] {
    return [...this.#sealed, this.#writer.segment].map(({ header, end }) => ({
      firstLsn: header.firstLsn,
      bytes: header.segmentBytes,
      usedBytes: end.offset,
      begunAt: header.clockMs,
    }))
  }

  /** The last record in segments that are never written again. Checkpoints are made up to here. */
  get sealedLsn(): Lsn {
    return this.#sealed.at(-1)?.end.lastLsn ?? 0
  }

  /** The state of the newest checkpoint is the state after this record; 0 when there is none. */
  get checkpointLsn(): Lsn {
    return this.#checkpointLsn
  }

  /**
   * Appends one or many records, all of them or none. The promise settles when they are durable,
   * with the LSN of the last durable record. `firstLsn` has to be `nextLsn`: the caller may have
   * written it into the records, so a disagreement is refused before anything is written.
   */
  append(firstLsn: Lsn, records: Records, claim?: Claim): Promise<Lsn> {
    return this.#writer.append(firstLsn, records, claim)
  }

  /**
   * Sets room aside for records that are still to be made, so that a full disk is met before they
   * have an LSN. Fails with `WAL_NO_SPACE`, the less urgent first.
   */
  claim(bytes: number, urgency: Urgency): Claim {
    return this.#writer.claim(bytes, urgency)
  }

  /**
   * Counts this opening among those that came to work (`recovery.starts` of the next one), once, however
   * often it is called. When it settles the count is as durable as an append.
   */
  markStarted(): Promise<void> {
    return this.#writer.markStarted()
  }

  /** Seals the current segment, unless it is empty, so that a checkpoint can cover it. */
  roll(): Promise<void> {
    return this.#writer.roll()
  }

  /** The durable records from an LSN on; without one, those that the newest checkpoint does not cover. */
  async *replay(options: { readonly fromLsn?: Lsn } = {}): AsyncGenerator<Run> {
    this.#refuseIfClosed()
    const fromLsn = startOf(options.fromLsn, this.#checkpointLsn, this.firstLsn)
    const current = this.#writer.segment
    const segments = [...this.#sealed, current].map(({ name, header, end }) => ({
      name,
      firstLsn: header.firstLsn,
      lastLsn: end.lastLsn,
    }))
    try {
      yield* readRuns(this.#settings.disk, this.#layout, segments, fromLsn)
    } catch (error) {
      // A truncation has overtaken this replay.
      throw systemCode(error) === 'ENOENT' ? forgotten(fromLsn, this.firstLsn) : error
    }
  }

  /** The chunks of the newest checkpoint, views that the next step ends. */
  async *readCheckpoint(): AsyncGenerator<Uint8Array> {
    this.#refuseIfClosed()
    if (this.#checkpointLsn === 0) return
    const path = this.#layout.checkpoint(this.#checkpointLsn)
    yield* readCheckpoint(this.#settings.disk, path, this.#checkpointLsn)
  }

  /**
   * Keeps the caller's state after `lsn`, the last record of a sealed segment. It is read back and
   * checked before it counts.
   */
  writeCheckpoint(lsn: Lsn, chunks: Chunks): Promise<void> {
    return this.#tidy(() => this.#writeCheckpoint(lsn, chunks))
  }

  /**
   * Removes what is no longer needed: segments that the older of the two newest good checkpoints
   * covers, and checkpoints older than that; takes notice of checkpoints that were made beside it. A checkpoint that cannot be read is never removed, and
   * nothing is removed because of it.
   */
  truncate(options: TruncateOptions = {}): Promise<Truncation> {
    return this.#tidy(() => this.#truncate(options))
  }

  /** Waits until everything appended is durable, then gives the log back. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #writeCheckpoint(lsn: Lsn, chunks: Chunks): Promise<void> {
    const { disk, clock } = this.#settings
    const at = this.#sealed.findLast(({ end }) => end.lastLsn === lsn)?.end
    const { epoch } = this.recovery
    const { starts } = this.#writer
    const facts = { logId: this.#logId, epoch, starts, clockMs: clock.now(), lsn, at }
    await keepCheckpoint(disk, this.#layout, facts, chunks)
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
    // Before the segments: one that stayed behind them could later look like the older of the newest two,
    // and what is removed here would be missing after it.
    for (const lsn of superfluous) await disk.remove(this.#layout.checkpoint(lsn))
    await disk.syncDirectory(this.#layout.checkpoints)
    const through = Math.min(older, (keepFromLsn ?? Number.POSITIVE_INFINITY) - 1)
    let segments = 0
    let bytes = 0
    for (;;) {
      const oldest = this.#sealed[0]
      if (oldest === undefined || oldest.end.lastLsn > through) break
      // Oldest first, each behind a sync of the removal before: what a crash leaves has no hole. After a
      // sync that failed one may come back all the same: it is stranded then, and the log does without.
      await disk.syncDirectory(this.#layout.segments)
      await removeIfPresent(disk, this.#layout.segment(oldest.name))
      this.#sealed.shift()
      segments++
      bytes += oldest.header.segmentBytes
    }
    await disk.syncDirectory(this.#layout.segments)
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

  /** Checkpoints and truncations run one at a time, and closing waits for them. */
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
