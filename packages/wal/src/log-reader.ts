import { type Clock, systemClock } from '@tenure/seams'
import { readCheckpoint } from './checkpoint/checkpoint.js'
import type { Damage, HistoryDamage } from './damage.js'
import type { Disk } from './disk/disk.js'
import { readIfPresent } from './disk/files.js'
import { nodeDisk } from './disk/node-disk.js'
import { systemCode, WalDamageError, WalError } from './errors.js'
import { bytesEqual } from './format/bytes.js'
import { Layout, segmentPath } from './format/layout.js'
import { followPollMs } from './format/limits.js'
import { type LogOpening, openingsOf } from './inspect/verify.js'
import type { SegmentInfo } from './log.js'
import type { Lsn } from './lsn.js'
import type { Gap, Segment } from './recover/examination.js'
import { type Survey, surveySteadily } from './recover/survey.js'
import { brokenOff, forgotten, type Run, startOf, takeRun } from './scan/runs.js'
import { type Finding, Scanner } from './scan/scanner.js'
import { judge } from './scan/verdict.js'

export interface ReadOnlyOptions {
  readonly disk?: Disk | undefined
  readonly clock?: Clock | undefined
}

export interface FollowOptions {
  /** Default: the first record that the newest checkpoint does not cover. */
  readonly fromLsn?: Lsn | undefined
  /** Waits at the end for what a writer appends, until `signal` says that it is enough. */
  readonly follow?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** A segment as a reader knows it. */
export interface ReaderSegment extends SegmentInfo {
  /** The file's name within the log's directory. */
  readonly file: string
  readonly epoch: number
  /** Of a sealed one: its last record, and where what it holds ends. */
  readonly lastLsn?: Lsn | undefined
  readonly end?: number | undefined
}

/** Opens the log for reading, beside a running writer or without one. Takes no lock and changes nothing. */
export async function openReadOnly(
  directory: string,
  { disk = nodeDisk, clock = systemClock }: ReadOnlyOptions = {},
): Promise<LogReader> {
  const layout = new Layout(directory)
  const survey = await surveySteadily(disk, layout)
  if (survey.examination.fresh) throw new WalError('WAL_NOT_A_LOG', `${directory} holds no log`)
  return new LogReader(disk, clock, layout, survey)
}

/**
 * A log that somebody else may be writing. What it reads ends at the last whole batch; that one may
 * be on its way to the disk still, and lost if the machine stops right then.
 */
export class LogReader {
  readonly logId: string
  /** The first record that was not removed behind a checkpoint when the log was opened. */
  readonly firstLsn: Lsn
  readonly checkpointLsn: Lsn
  /** Every checkpoint whose header is good and whose following records were not removed, newest first. */
  readonly checkpoints: readonly Lsn[]
  readonly gaps: readonly Gap[]

  readonly #disk: Disk
  readonly #clock: Clock
  readonly #layout: Layout
  /** Records that are lost before all others. */
  readonly #hole: HistoryDamage | undefined
  #segments: readonly Segment[]
  #head: Uint8Array | undefined

  /** For `openReadOnly`. */
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
   * When the log was opened for writing, as far as its segments tell: of the oldest one that is left
   * it is not known whether its writer began with it.
   */
  get openings(): LogOpening[] {
    return openingsOf(this.#segments)
  }

  /** Oldest first. What records the last one holds, only reading tells. */
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

  /** The records from an LSN on, checked on the way. */
  async *replay(options: FollowOptions = {}): AsyncGenerator<Run> {
    const fromLsn = startOf(options.fromLsn, this.checkpointLsn, this.firstLsn)
    if (fromLsn <= (this.#hole?.lastMissingLsn ?? 0)) throw new WalDamageError(this.#hole!)
    let segment = this.#segmentOf(fromLsn)
    try {
      // A truncation that was noticed since then.
      if (segment === undefined) throw await this.#forgotten(fromLsn)
      while (segment !== undefined) segment = yield* this.#readSegment(segment, fromLsn, options)
    } catch (error) {
      // A truncation has overtaken this replay.
      throw systemCode(error) === 'ENOENT' ? await this.#forgotten(fromLsn) : error
    }
  }

  /** The chunks of a checkpoint, by default the newest, views that the next step ends. */
  async *readCheckpoint(lsn = this.checkpointLsn): AsyncGenerator<Uint8Array> {
    if (lsn === 0) return
    yield* readCheckpoint(this.#disk, this.#layout.checkpoint(lsn), lsn)
  }

  /**
   * Reads to the segment's end, and returns the one that follows it. Without one the end is where
   * there is nothing more for now.
   */
  async *#readSegment(
    segment: Segment,
    fromLsn: Lsn,
    { follow = false, signal }: FollowOptions,
  ): AsyncGenerator<Run, Segment | undefined> {
    const file = await this.#disk.open(this.#layout.segment(segment.name), 'read')
    try {
      const scanner = new Scanner(file, await file.size(), segment.header)
      let stalls = 0
      let doubts = 0
      while (signal?.aborted !== true) {
        const next = this.#after(segment)
        const lastLsn = next?.header.previous.lastLsn ?? Number.POSITIVE_INFINITY
        const run = takeRun(scanner, fromLsn, lastLsn)
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
        if (next !== undefined) {
          // It may have been read before the writer was through with it; but only once.
          if (doubts++ > 0) {
            const coveredBy = lastLsn <= this.checkpointLsn ? this.checkpointLsn : undefined
            throw brokenOff(segment.name, scanner, lastLsn, coveredBy)
          }
        } else if (await this.#refresh(segment, scanner.nextLsn)) {
          doubts = 0
        } else {
          const isDue = stalls++ === looksPerSecond
          const thoroughly = !follow || doubts > 0 || isDue
          const damage = await this.#damageAt(segment, scanner, finding, thoroughly)
          doubts = damage === undefined ? 0 : doubts + 1
          if (damage !== undefined && doubts === looksBeforeBelief) throw new WalDamageError(damage)
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
   * What is wrong at the end of the newest segment. A batch on its way may look wrong for a moment.
   * The rest of a segment is long, so unless `thoroughly` zeros are taken for its end unseen.
   */
  async #damageAt(
    segment: Segment,
    scanner: Scanner,
    finding: Finding,
    thoroughly: boolean,
  ): Promise<Damage | undefined> {
    const looksClean = finding.kind === 'zero-header' || finding.kind === 'full'
    if (looksClean && !thoroughly) return undefined
    const verdict = judge(finding, await scanner.remainder(), scanner.nextBatch)
    if (verdict.kind === 'clean' || verdict.kind === 'torn') return undefined
    const { kind, why } = verdict
    const file = segmentPath(segment.name)
    return { kind, file, offset: scanner.offset, firstMissingLsn: scanner.nextLsn, why }
  }

  /** A declared gap before a segment belongs to it, where there is none before that. */
  #segmentOf(lsn: Lsn): Segment | undefined {
    const segment = this.#segments.findLast((it) => it.header.firstLsn <= lsn)
    return segment ?? this.#segments.find((it) => it.header.previous.lastLsn < lsn)
  }

  #after(segment: Segment): Segment | undefined {
    return this.#segments.find((it) => it.header.previous.sequence === segment.header.sequence)
  }

  /** Looks for new segments; says whether there are any. */
  async #refresh(current: Segment, nextLsn: Lsn): Promise<boolean> {
    const head = await readIfPresent(this.#disk, this.#layout.head)
    if (head !== undefined && this.#head !== undefined && bytesEqual(head, this.#head)) return false
    const survey = await surveySteadily(this.#disk, this.#layout)
    this.#segments = survey.examination.segments
    this.#head = survey.head
    if (this.#after(current) !== undefined) return true
    // Neither this segment nor the one behind it is left: a truncation has overtaken the reader.
    if (!this.#segments.some((it) => it.name === current.name)) throw await this.#forgotten(nextLsn)
    return false
  }

  async #forgotten(lsn: Lsn): Promise<WalError> {
    const { examination } = await surveySteadily(this.#disk, this.#layout)
    return forgotten(lsn, examination.segments[0]?.header.firstLsn ?? examination.end.lastLsn + 1)
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

/** So often in a row the end of a log must look damaged, while a writer may be at it, to be so. */
const looksBeforeBelief = 3
