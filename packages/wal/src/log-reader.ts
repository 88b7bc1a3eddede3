import { type Clock, systemClock } from '@tenure/seams'
import { readCheckpoint } from './checkpoint/checkpoint.js'
import type { Damage, HistoryDamage } from './damage.js'
import type { Disk } from './disk/disk.js'
import { readIfPresent } from './disk/files.js'
import { nodeDisk } from './disk/node-disk.js'
import { noLog, systemCode, WalDamageError, type WalError } from './errors.js'
import { bytesEqual } from './format/bytes.js'
import { Layout, segmentPath } from './format/layout.js'
import { followPollMs } from './format/limits.js'
import { type LogOpening, openingsOf } from './inspect/verify.js'
import type { SegmentInfo } from './log.js'
import type { Lsn } from './lsn.js'
import type { Gap, Segment } from './recover/examination.js'
import { type Survey, surveyUntilStable } from './recover/survey.js'
import {
  checkedStart,
  damageFound,
  type RecordRange,
  removedError,
  takeRange,
} from './scan/record-range.js'
import { refuseReused } from './scan/reuse.js'
import { type Finding, Scanner } from './scan/scanner.js'
import { judge } from './scan/verdict.js'

export interface ReadOnlyOptions {
  readonly disk?: Disk | undefined
  readonly clock?: Clock | undefined
}

export interface FollowOptions {
  /** First LSN to read. Default: the first record that the newest checkpoint does not cover. */
  readonly fromLsn?: Lsn | undefined
  /** At the end, wait for new records until `signal` is aborted. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** A segment as seen by a reader. */
export interface ReaderSegment extends SegmentInfo {
  /** Path of the file, relative to the log's directory. */
  readonly file: string
  readonly epoch: number
  /** For a sealed segment: its last record, and the offset at which its content ends. */
  readonly lastLsn?: Lsn | undefined
  readonly end?: number | undefined
}

/** Opens the log for reading, with or without a running writer. Takes no lock and changes nothing. */
export async function openReadOnly(
  directory: string,
  { disk = nodeDisk, clock = systemClock }: ReadOnlyOptions = {},
): Promise<LogReader> {
  const layout = new Layout(directory)
  const survey = await surveyUntilStable(disk, layout)
  if (survey.examination.fresh) throw noLog(directory)
  return new LogReader(disk, clock, layout, survey)
}

/**
 * A log that another process may be writing. Reading ends at the last whole batch. That batch may
 * not be durable yet: a power loss can remove it.
 */
export class LogReader {
  readonly logId: string
  /** The first LSN that was not removed by truncation when the log was opened. */
  readonly firstLsn: Lsn
  readonly checkpointLsn: Lsn
  /** Checkpoints with a valid header from which the log can be replayed, newest first. */
  readonly checkpoints: readonly Lsn[]
  readonly gaps: readonly Gap[]

  readonly #disk: Disk
  readonly #clock: Clock
  readonly #layout: Layout
  /** Missing records before all others. */
  readonly #hole: HistoryDamage | undefined
  #segments: readonly Segment[]
  #head: Uint8Array | undefined

  /** Use `openReadOnly`. */
  constructor(disk: Disk, clock: Clock, layout: Layout, { examination, head }: Survey) {
    this.#head = head
    this.logId = Buffer.from(examination.logId!).toString('hex')
    this.#disk = disk
    this.#clock = clock
    this.#layout = layout
    this.#segments = examination.segments
    this.gaps = examination.gaps
    const first = examination.segments[0]?.header
    this.#hole = examination.historyDamage[0]
    const beginning = this.#hole ? this.#hole.firstMissingLsn - 1 : (first?.previous.lastLsn ?? 0)
    this.checkpoints = examination.goodCheckpoints.filter((lsn) => lsn >= beginning)
    this.checkpointLsn = this.checkpoints[0] ?? 0
    this.firstLsn = this.#hole?.firstMissingLsn ?? first?.firstLsn ?? this.checkpointLsn + 1
  }

  /**
   * The opens of the log that its segments show. The oldest remaining segment counts only if it is
   * the first one of the log, because otherwise it may not be the first one of its writer.
   */
  get openings(): LogOpening[] {
    return openingsOf(this.#segments)
  }

  /** Oldest first. Only reading shows what the last segment contains. */
  get segments(): ReaderSegment[] {
    return this.#segments.map(({ name, header }, index) => {
      const next = this.#segments[index + 1]?.header
      return {
        file: segmentPath(name),
        firstLsn: header.firstLsn,
        bytes: header.segmentBytes,
        begunAt: header.clockMs,
        epoch: header.epoch,
        lastLsn: next?.previous.lastLsn,
        end: next?.previous.offset,
      }
    })
  }

  /** The records from an LSN on, verified while reading. */
  async *replay(options: FollowOptions = {}): AsyncGenerator<RecordRange> {
    const fromLsn = checkedStart(options.fromLsn, this.checkpointLsn, this.firstLsn)
    if (fromLsn <= (this.#hole?.lastMissingLsn ?? 0)) throw new WalDamageError(this.#hole!)
    let segment = this.#segmentOf(fromLsn)
    try {
      // A truncation was noticed since then.
      if (segment === undefined) throw await this.#forgotten(fromLsn)
      while (segment !== undefined) segment = yield* this.#readSegment(segment, fromLsn, options)
    } catch (error) {
      // A truncation removed the segment during this replay.
      throw systemCode(error) === 'ENOENT' ? await this.#forgotten(fromLsn) : error
    }
  }

  /**
   * The chunks of a checkpoint, by default the newest. Each is a view that is valid until the next
   * step.
   */
  async *readCheckpoint(lsn = this.checkpointLsn): AsyncGenerator<Uint8Array> {
    if (lsn === 0) return
    yield* readCheckpoint(this.#disk, this.#layout.checkpoint(lsn), lsn)
  }

  /**
   * Reads to the segment's end and returns the next segment. Without one, the end is where nothing
   * more can be read for now.
   */
  async *#readSegment(
    segment: Segment,
    fromLsn: Lsn,
    { follow = false, signal }: FollowOptions,
  ): AsyncGenerator<RecordRange, Segment | undefined> {
    const file = await this.#disk.open(this.#layout.segment(segment.name), 'read')
    try {
      const scanner = new Scanner(file, await file.size(), segment.header)
      let stalls = 0
      let doubts = 0
      while (signal?.aborted !== true) {
        const next = this.#after(segment)
        const lastLsn = next?.header.previous.lastLsn ?? Number.POSITIVE_INFINITY
        const run = takeRange(scanner, fromLsn, lastLsn)
        if (run !== undefined) {
          stalls = 0
          doubts = 0
          yield run
        }
        if (scanner.nextLsn > lastLsn) return next
        const { finding } = scanner
        if (finding === undefined) {
          await scanner.fill()
          continue
        }
        await refuseReused(file, segment.name, segment.header)
        if (next !== undefined) {
          // The reader may have been faster than the writer, but only once.
          if (doubts++ > 0) {
            const coveredBy = lastLsn <= this.checkpointLsn ? this.checkpointLsn : undefined
            throw damageFound(segment.name, scanner, lastLsn, coveredBy)
          }
        } else if (await this.#refresh(segment, scanner.nextLsn)) {
          doubts = 0
        } else {
          const isDue = stalls++ === looksPerSecond
          const thoroughly = !follow || doubts > 0 || isDue
          const damage = await this.#damageAt(segment, scanner, finding, thoroughly)
          doubts = damage === undefined ? 0 : doubts + 1
          if (damage !== undefined && doubts === readsToConfirmDamage)
            throw new WalDamageError(damage)
          if (damage === undefined && !follow) return undefined
          await this.#pause(signal)
        }
        scanner.retry()
      }
      return undefined
    } finally {
      await file.close()
    }
  }

  /**
   * The damage at the end of the newest segment, if any. A batch that is being written can look
   * damaged for a moment. Unless `thoroughly`, zeros count as the end and the rest of the segment
   * is not read.
   */
  async #damageAt(
    segment: Segment,
    scanner: Scanner,
    finding: Finding,
    thoroughly: boolean,
  ): Promise<Damage | undefined> {
    const looksClean = finding.kind === 'no-header' || finding.kind === 'full'
    if (looksClean && !thoroughly) return undefined
    const behind = await scanner.remainder()
    const verdict = judge(finding, behind, scanner.nextBatch, scanner.logKind)
    if (verdict.kind === 'clean' || verdict.kind === 'torn') return undefined
    const { kind, why } = verdict
    const file = segmentPath(segment.name)
    return { kind, file, offset: scanner.offset, firstMissingLsn: scanner.nextLsn, why }
  }

  /**
   * The segment that contains the LSN. A gap after a segment counts as part of that segment, a gap
   * before the first segment as part of the first.
   */
  #segmentOf(lsn: Lsn): Segment | undefined {
    const segment = this.#segments.findLast((it) => it.header.firstLsn <= lsn)
    return segment ?? this.#segments.find((it) => it.header.previous.lastLsn < lsn)
  }

  #after(segment: Segment): Segment | undefined {
    return this.#segments.find((it) => it.header.previous.sequence === segment.header.sequence)
  }

  /** Looks for new segments. Returns whether there are any. */
  async #refresh(current: Segment, nextLsn: Lsn): Promise<boolean> {
    const head = await readIfPresent(this.#disk, this.#layout.head)
    if (head !== undefined && this.#head !== undefined && bytesEqual(head, this.#head)) return false
    const survey = await surveyUntilStable(this.#disk, this.#layout)
    this.#segments = survey.examination.segments
    this.#head = survey.head
    if (this.#after(current) !== undefined) return true
    // A truncation removed this segment and the next one before they were read.
    if (!this.#segments.some((it) => it.name === current.name)) throw await this.#forgotten(nextLsn)
    return false
  }

  async #forgotten(lsn: Lsn): Promise<WalError> {
    const { examination } = await surveyUntilStable(this.#disk, this.#layout)
    return removedError(
      lsn,
      examination.segments[0]?.header.firstLsn ?? examination.end.lastLsn + 1,
    )
  }

  #pause(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(followPollMs, finish)
      signal?.addEventListener('abort', finish)
      function finish(): void {
        timer.cancel()
        signal?.removeEventListener('abort', finish)
        resolve()
      }
    })
  }
}

const looksPerSecond = 1000 / followPollMs

/** How many consecutive reads must show damage before it is reported, because a writer may be active. */
const readsToConfirmDamage = 3
