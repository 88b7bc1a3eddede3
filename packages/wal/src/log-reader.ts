import { bytesEqual } from './bytes.js'
import { readCheckpoint } from './checkpoint.js'
import type { Clock } from './clock.js'
import type { Disk } from './disk.js'
import { systemCode, WalDamageError, WalError } from './errors.js'
import { type Examination, examine, type Gap, type Segment } from './examine.js'
import { readIfPresent } from './files.js'
import { Layout } from './layout.js'
import { followPollMs } from './limits.js'
import { forgotten } from './log.js'
import type { Lsn } from './lsn.js'
import { nodeDisk } from './node-disk.js'
import { brokenOff, type Run, takeRun } from './runs.js'
import { Scanner } from './scanner.js'
import { systemClock } from './system-clock.js'

export interface ReadOnlyOptions {
  readonly disk?: Disk
  readonly clock?: Clock
}

export interface FollowOptions {
  /** Default: the first record that the newest checkpoint does not cover. */
  readonly fromLsn?: Lsn
  /** Waits at the end for what a writer appends, until `signal` says that it is enough. */
  readonly follow?: boolean
  readonly signal?: AbortSignal
}

/** Opens the log for reading, beside a running writer or without one. Takes no lock and changes nothing. */
export async function openReadOnly(
  directory: string,
  { disk = nodeDisk, clock = systemClock }: ReadOnlyOptions = {},
): Promise<LogReader> {
  const layout = new Layout(directory)
  const examination = await surveySteadily(disk, layout)
  if (examination.fresh) {
    throw new WalError('WAL_NOT_A_LOG', `${directory} holds no log`)
  }
  return new LogReader(disk, clock, layout, examination)
}

/**
 * A log that somebody else may be writing. What it reads ends at the last whole batch; that one may
 * be on its way to the disk still, and lost if the machine stops right then.
 */
export class LogReader {
  /** The first record that could be read when the log was opened. */
  readonly firstLsn: Lsn
  readonly checkpointLsn: Lsn
  readonly gaps: readonly Gap[]

  readonly #disk: Disk
  readonly #clock: Clock
  readonly #layout: Layout
  #segments: readonly Segment[]

  /** For `openReadOnly`. */
  constructor(disk: Disk, clock: Clock, layout: Layout, examination: Examination) {
    this.#disk = disk
    this.#clock = clock
    this.#layout = layout
    this.#segments = examination.segments
    this.gaps = examination.gaps
    this.checkpointLsn = examination.checkpoint?.previous.lastLsn ?? 0
    this.firstLsn = examination.segments[0]?.header.firstLsn ?? this.checkpointLsn + 1
  }

  /** The records from an LSN on, checked on the way. */
  async *replay(options: FollowOptions = {}): AsyncGenerator<Run> {
    let fromLsn = options.fromLsn ?? Math.max(this.checkpointLsn + 1, this.firstLsn)
    if (fromLsn < this.firstLsn) throw forgotten(fromLsn, this.firstLsn)
    let segment =
      this.#segments.findLast((it) => it.header.firstLsn <= fromLsn) ?? this.#segments[0]
    while (segment !== undefined) {
      for await (const run of this.#readSegment(segment, fromLsn, options)) {
        yield run
        fromLsn = run.firstLsn + run.records.length
      }
      segment = this.#after(segment)
    }
  }

  /** The chunks of the newest checkpoint, views that the next step ends. */
  async *readCheckpoint(): AsyncGenerator<Uint8Array> {
    if (this.checkpointLsn === 0) return
    yield* readCheckpoint(
      this.#disk,
      this.#layout.checkpoint(this.checkpointLsn),
      this.checkpointLsn,
    )
  }

  /** Reads to the segment's end: where the next one pins it, or where there is nothing more for now. */
  async *#readSegment(
    segment: Segment,
    fromLsn: Lsn,
    { follow = false, signal }: FollowOptions,
  ): AsyncGenerator<Run> {
    const file = await this.#disk.open(this.#layout.segment(segment.name), 'read')
    try {
      const scanner = new Scanner(file, await file.size(), segment.header)
      for (let isLastLook = false; signal?.aborted !== true; ) {
        const lastLsn = this.#after(segment)?.header.previous.lastLsn ?? Number.POSITIVE_INFINITY
        const run = takeRun(scanner, fromLsn, lastLsn)
        if (run !== undefined) yield run
        if (scanner.nextLsn > lastLsn) return
        if (scanner.finding === undefined) {
          await scanner.fill()
          continue
        }
        // The writer may have gone on, here or in another segment, since this was read.
        if (isLastLook) {
          if (this.#after(segment) !== undefined) throw brokenOff(segment.name, scanner, lastLsn)
          if (!follow) return
          await this.#pause(signal)
        }
        isLastLook = !(await this.#refresh())
        scanner.retry()
      }
    } finally {
      await file.close()
    }
  }

  #after(segment: Segment): Segment | undefined {
    return this.#segments.find((it) => it.header.previous.sequence === segment.header.sequence)
  }

  /** Looks for new segments; says whether there are any. */
  async #refresh(): Promise<boolean> {
    const before = this.#segments.at(-1)?.name
    this.#segments = (await surveySteadily(this.#disk, this.#layout)).segments
    return this.#segments.at(-1)?.name !== before
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

/** How often a picture that a running writer may have blurred is taken again. */
const looksMax = 10

/**
 * Names and headers, as they stood together at some moment. A writer that rolls or truncates while
 * they are read can make them look damaged; what is damaged in truth still is at the next look.
 */
async function surveySteadily(disk: Disk, layout: Layout): Promise<Examination> {
  for (let look = 1; ; look++) {
    const before = await readIfPresent(disk, layout.head)
    let problem: unknown
    try {
      const examination = await examine(disk, layout, 'names')
      if (examination.damage === undefined) return examination
      problem = new WalDamageError(examination.damage)
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
      problem = error
    }
    const after = await readIfPresent(disk, layout.head)
    const isSteady =
      before === after || (before !== undefined && after !== undefined && bytesEqual(before, after))
    if (look >= looksMax || (isSteady && problem instanceof WalDamageError)) throw problem
  }
}
