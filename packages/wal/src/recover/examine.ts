import type { AcceptedLoss, Damage, HistoryDamage } from '../damage.js'
import type { Disk } from '../disk/disk.js'
import { readFully, withFile } from '../disk/files.js'
import { systemCode } from '../errors.js'
import { decodeBatchHeader, nextBatchOffset, Place } from '../format/batch.js'
import { beginning, type DecodedFileHeader, type SegmentEnd } from '../format/file-header.js'
import { checkpointPath, type Layout, segmentPath } from '../format/layout.js'
import { batchHeaderBytes, recordHeaderBytes } from '../format/limits.js'
import type { Lsn } from '../lsn.js'
import { Scanner } from '../scan/scanner.js'
import { describeFinding, judge } from '../scan/verdict.js'
import type { Depth, Examination, Gap, Segment } from './examination.js'
import { takeInventory } from './inventory.js'
import {
  compareHead,
  cutsOffUnreadable,
  type Found,
  findHole,
  findLineageFault,
  type LineageFault,
  type Prepared,
  precedesTrusted,
  supersedes,
  trustedSegments,
  type Unreadable,
} from './lineage.js'

/**
 * Reads a log's directory and reports its condition. Changes nothing. Throws only if it cannot
 * tell: no log, a newer format, or a disk that cannot list names.
 *
 * The trusted part is always a sequence of segments from the start, or from what a good checkpoint
 * covers, up to one place, the `end`. After it there is nothing, a torn write, or damage.
 */
export async function examine(
  disk: Disk,
  layout: Layout,
  depth: Depth,
  options: ExamineOptions = {},
): Promise<Examination> {
  return new Examiner(disk, layout, depth, options).run()
}

export interface ExamineOptions {
  /**
   * A writer may be active, so an end that moves at a second look was still being written. Must be
   * false for a caller that goes on to write, because it needs one consistent view.
   */
  readonly besideWriter?: boolean
}

class Examiner {
  readonly #disk: Disk
  readonly #layout: Layout
  readonly #depth: Depth
  readonly #besideWriter: boolean

  readonly #segments: Segment[] = []
  readonly #gaps: Gap[] = []
  #goodCheckpoints: readonly DecodedFileHeader[] = []
  #end: SegmentEnd = beginning
  #nextBatch = 1
  #latestClockMs = 0
  #starts = 0
  #records = 0
  #bytes = 0
  #torn: Examination['torn']
  #era = 0
  #damage: Damage | undefined
  readonly #historyDamage: HistoryDamage[] = []

  constructor(disk: Disk, layout: Layout, depth: Depth, { besideWriter = false }: ExamineOptions) {
    this.#disk = disk
    this.#layout = layout
    this.#depth = depth
    this.#besideWriter = besideWriter
  }

  async run(): Promise<Examination> {
    const inventory = await takeInventory(this.#disk, this.#layout, this.#depth)
    const { head, found } = inventory
    this.#goodCheckpoints = inventory.goodCheckpoints
    const newestHeader = found.at(-1)?.header ?? this.#goodCheckpoints[0]
    this.#era = (typeof head === 'object' ? head : newestHeader)?.era ?? 0
    const headSequence = typeof head === 'string' ? Number.MAX_SAFE_INTEGER : (head?.sequence ?? 0)
    // `HEAD` names the newest segment that has begun, so what has a later name holds no records.
    const hasBegun = ({ sequence }: Prepared) =>
      typeof head !== 'object' || sequence <= head.sequence
    const isUnborn = head === undefined && newestHeader === undefined
    const sequences = new Set(found.map(({ header }) => header.sequence))
    // A prepared file can come back after a failed sync, beside the segment that took its place.
    const cleared = inventory.prepared.filter(
      (it) => !isUnborn && hasBegun(it) && !sequences.has(it.sequence),
    )
    const prepared = inventory.prepared.filter((it) => !cleared.includes(it))
    const foreign = inventory.unreadable.filter((it) => !hasBegun(it))
    const unreadable = [
      ...inventory.unreadable.filter(hasBegun),
      ...cleared.map((it) => ({ ...it, why: 'its header is zeros' })),
    ]
    const unfinished: Found[] = []
    for (const segment of found) {
      if (segment.header.sequence > headSequence && (await this.#isEmpty(segment))) {
        unfinished.push(segment)
      }
    }
    const present = found.filter((segment) => !unfinished.includes(segment))
    const checkpointLsn = this.#goodCheckpoints[0]?.previous.lastLsn
    const linked = trustedSegments(present, checkpointLsn ?? -1)
    const unlinked = unreadable.filter((it) => precedesTrusted(linked, it))
    const doubtful = unreadable.filter((it) => !unlinked.includes(it))
    const isLog = present.length > 0 || checkpointLsn !== undefined
    const fault =
      findLineageFault(linked, present, doubtful) ?? compareHead(head, linked.at(-1)?.header, isLog)
    this.#noteHole(linked, unlinked)
    await this.#scanSegments(linked, fault)

    const trusted = new Set(this.#segments.map((segment) => segment.name))
    const rest = present.filter((segment) => !trusted.has(segment.name))
    const start = this.#segments[0]?.header.sequence ?? 0
    const superseded = rest.filter((segment) => this.#isSuperseded(segment))
    const stranded = rest.filter(
      (segment) => !superseded.includes(segment) && segment.header.sequence < start,
    )
    const cut = rest.filter((it) => !superseded.includes(it) && !stranded.includes(it))
    const cutOff = doubtful.filter((it) =>
      this.#segments.some(({ header }) => cutsOffUnreadable(header, it)),
    )
    const unread = doubtful.filter((it) => !cutOff.includes(it))
    // Also those that `HEAD` does not name yet: the next segment must not get such a name.
    const unreadableNames = [...unreadable, ...foreign]
    const segmentHeaders = found.map((segment) => segment.header)
    const everyHeader = [...segmentHeaders, ...this.#goodCheckpoints]
    return {
      fresh: head === undefined && present.length === 0 && this.#damage === undefined,
      logId: inventory.logId ?? this.#goodCheckpoints[0]?.logId,
      era: this.#era,
      head,
      segments: this.#segments,
      end: this.#end,
      nextBatch: this.#nextBatch,
      highestSequence: Math.max(
        0,
        typeof head === 'object' ? head.sequence : 0,
        // If no segment is left, use the checkpoint's place.
        this.#end.sequence,
        ...present.map((segment) => segment.header.sequence),
        // Ignore impossible numbers: the file may not be ours.
        ...unreadableNames.map(({ sequence }) => (sequence < sequenceMax ? sequence : 0)),
      ),
      highestEpoch: Math.max(
        0,
        typeof head === 'object' ? head.epoch : 0,
        ...everyHeader.map((header) => header.epoch),
        // Ignore impossible epochs: the file may not be ours.
        ...unreadableNames.map(({ epoch }) => (epoch < epochMax ? epoch : 0)),
      ),
      highestLsn: Math.max(
        this.#end.lastLsn,
        this.#damage?.lastMissingLsn ?? 0,
        ...segmentHeaders.map((header) => Math.max(header.previous.lastLsn, header.firstLsn - 1)),
        // After damage, assume that every LSN was issued for which the segment had space.
        ...(this.#damage === undefined ? [] : segmentHeaders.map(lastPossibleLsn)),
        ...this.#goodCheckpoints.map((header) => header.previous.lastLsn),
      ),
      latestClockMs: Math.max(this.#latestClockMs, ...everyHeader.map((header) => header.clockMs)),
      starts: Math.max(this.#starts, ...everyHeader.map((header) => header.starts)),
      records: this.#records,
      bytes: this.#bytes,
      gaps: this.#gaps,
      checkpoint: this.#goodCheckpoints[0],
      goodCheckpoints: this.#goodCheckpoints.map((header) => header.previous.lastLsn),
      badCheckpoints: inventory.badCheckpoints,
      torn: this.#torn,
      damage: this.#damage,
      historyDamage: this.#historyDamage,
      afterEnd: [...names(cut), ...names(unread)],
      superseded: [...names(superseded), ...names(cutOff), ...names(foreign)],
      unfinished: [...names(unfinished), ...names(prepared)],
      stranded: [...names(stranded), ...names(unlinked)].sort(),
      leftovers: inventory.leftovers,
    }
  }

  async #isEmpty(segment: Found): Promise<boolean> {
    return withFile(this.#disk, this.#layout.segment(segment.name), 'read', async (file) => {
      const scanner = new Scanner(file, segment.fileBytes, segment.header)
      if ((await scanner.next()) !== undefined) return false
      const { isWritten, readError } = await scanner.remainder()
      return !isWritten && readError === undefined
    })
  }

  /** Reads the segments up to the first damage. `fault` is damage known from names and headers. */
  async #scanSegments(linked: readonly Found[], fault: LineageFault | undefined): Promise<void> {
    const checkpoint = this.#goodCheckpoints[0]
    const first = linked[0]
    if (first !== undefined) this.#startAt(first.header.previous, first.header.firstBatch)
    else if (checkpoint !== undefined) this.#startAt(checkpoint.previous, 1)
    for (const [index, segment] of linked.entries()) {
      const { header, name } = segment
      const next = linked[index + 1]?.header
      const isCovered = next !== undefined && this.#isCovered(next.previous.lastLsn)
      // The next header records where a covered segment ends. A scan finds what is missing before
      // that place, and nothing is read after it.
      if (segment.fileBytes !== header.segmentBytes && !isCovered) {
        const why = `it has ${segment.fileBytes} bytes instead of the ${header.segmentBytes} in its header`
        this.#report({ kind: 'corrupt', file: segmentPath(name), why })
        return
      }
      this.#noteGap(header)
      if (next !== undefined && this.#isSkipped(next) && !(await this.#mayFork(segment, next)))
        this.#startAt(next.previous, next.firstBatch)
      else if (this.#depth === 'names')
        this.#startAt({ ...this.#end, sequence: header.sequence }, header.firstBatch)
      else await this.#scanSegment(segment, next ?? fault)
      this.#segments.push({ name, header, end: this.#end })
      if (this.#damage !== undefined) return
    }
    if (fault !== undefined) this.#report({ kind: 'corrupt', ...fault })
    this.#compareCheckpoint()
  }

  /** Notes missing records before the trusted segments. The newest checkpoint covers them. */
  #noteHole(linked: readonly Found[], unlinked: readonly Unreadable[]): void {
    const [newest, older] = this.#goodCheckpoints.map(({ previous }) => previous.lastLsn)
    const hole = findHole(linked, older, unlinked)
    if (hole === undefined || newest === undefined) return
    this.#historyDamage.push({ kind: 'corrupt', ...hole, coveredBy: newest })
  }

  /** Whether the content before this segment can be skipped. */
  #isSkipped(next: DecodedFileHeader): boolean {
    if (this.#depth !== 'recovery') return this.#depth === 'names'
    return this.#isCovered(next.previous.lastLsn)
  }

  /**
   * Whether batches may follow the end that the next segment records, written by a superseded
   * writer. If that end is also the checkpoint's, no checkpoint covers them.
   */
  async #mayFork({ name, header }: Found, next: DecodedFileHeader): Promise<boolean> {
    const { lastLsn, offset, chain } = next.previous
    if (this.#depth !== 'recovery' || this.#isInside(lastLsn)) return false
    if (next.gap === 'accepted-loss') return false
    const at = nextBatchOffset(offset)
    try {
      return await withFile(this.#disk, this.#layout.segment(name), 'read', async (file) => {
        const bytes = await readFully(file, new Uint8Array(batchHeaderBytes), at)
        if (bytes.length < batchHeaderBytes) return false
        const place = new Place(header.logId, header.crc)
        return decodeBatchHeader(bytes, place.crcAt(at))?.chain === chain
      })
    } catch (error) {
      // The full scan will report this error.
      if (systemCode(error) === undefined) throw error
      return true
    }
  }

  #startAt(end: SegmentEnd, nextBatch: number): void {
    this.#end = end
    this.#nextBatch = nextBatch
  }

  #noteGap(header: DecodedFileHeader): void {
    if (header.gap === 'none') return
    const firstLsn = header.previous.lastLsn + 1
    this.#gaps.push({ firstLsn, lastLsn: header.firstLsn - 1, reason: header.gap })
  }

  async #scanSegment(
    segment: Found,
    next: DecodedFileHeader | LineageFault | undefined,
  ): Promise<void> {
    await withFile(this.#disk, this.#layout.segment(segment.name), 'read', async (file) => {
      const scanner = new Scanner(file, segment.fileBytes, segment.header)
      // The part that an accepted loss cut off is not read again.
      const isCut = next !== undefined && 'gap' in next && next.gap === 'accepted-loss'
      const limit = isCut ? next.previous.offset : Number.POSITIVE_INFINITY
      let isCommon = false
      while (scanner.end.offset < limit) {
        isCommon ||= next !== undefined && 'previous' in next && isAt(scanner.end, next.previous)
        const batch = await scanner.next()
        if (batch === undefined) break
        this.#records += batch.header.count
        this.#latestClockMs = Math.max(this.#latestClockMs, batch.header.clockMs)
        this.#starts = Math.max(this.#starts, batch.header.starts)
      }
      this.#startAt(scanner.end, scanner.nextBatch)
      this.#bytes += scanner.end.offset
      if (next === undefined) await this.#judgeEnd(segmentPath(segment.name), scanner)
      else if ('previous' in next) this.#compareEnd(segment, scanner, next, isCommon)
    })
  }

  /**
   * Compares the scanned end with the one that the next segment records. A difference is damage.
   * `isCommon` says whether the scan came through the recorded end.
   */
  #compareEnd(
    { name, header }: Found,
    scanner: Scanner,
    next: DecodedFileHeader,
    isCommon: boolean,
  ): void {
    const { previous } = next
    const end = scanner.end
    const place = { kind: 'corrupt', file: segmentPath(name), offset: scanner.offset } as const
    if (isAt(end, previous)) return
    const { lastLsn } = previous
    if (end.offset < previous.offset) {
      const why =
        `${describeFinding(scanner.finding!)}, where acknowledged data should be: ` +
        `segment ${next.sequence} records that this one continues to byte ${previous.offset} and LSN ${previous.lastLsn}`
      if (this.#isCovered(lastLsn)) {
        this.#reportCovered({ ...place, firstMissingLsn: end.lastLsn + 1, why }, next)
      } else this.#report({ ...place, lastMissingLsn: Math.max(lastLsn, end.lastLsn), why })
      return
    }
    const why =
      `two histories: this segment continues to byte ${end.offset} and LSN ${end.lastLsn}, ` +
      `but segment ${next.sequence} of epoch ${next.epoch} records that it ends at byte ${previous.offset} ` +
      `and LSN ${previous.lastLsn}. Two writers must have been active concurrently`
    if (this.#isInside(lastLsn)) {
      this.#reportCovered({ ...place, firstMissingLsn: header.firstLsn, why }, next)
      return
    }
    // The part before both ends can be trusted. If the two have no such part in this segment, the next
    // one was written elsewhere, and this one is whole.
    if (isCommon) this.#startAt(previous, next.firstBatch)
    this.#report({ ...place, why })
  }

  #isCovered(lastLsn: Lsn): boolean {
    return lastLsn <= this.#coveredLsn
  }

  /** Whether the checkpoint also covers later records. */
  #isInside(lastLsn: Lsn): boolean {
    return lastLsn < this.#coveredLsn
  }

  get #coveredLsn(): Lsn {
    return this.#goodCheckpoints[0]?.previous.lastLsn ?? -1
  }

  /** Continues after it, because recovery never reads there. */
  #reportCovered(
    damage: Omit<HistoryDamage, 'lastMissingLsn' | 'coveredBy'>,
    next: DecodedFileHeader,
  ): void {
    const { lastLsn: lastMissingLsn } = next.previous
    const coveredBy = this.#goodCheckpoints[0]!.previous.lastLsn
    this.#historyDamage.push({ ...damage, lastMissingLsn, coveredBy })
    this.#startAt(next.previous, next.firstBatch)
  }

  async #judgeEnd(file: string, scanner: Scanner): Promise<void> {
    const { finding, offset } = scanner
    if (finding === undefined) throw new Error('the scan ended without a finding')
    const behind = await scanner.remainder()
    const verdict = judge(finding, behind, scanner.nextBatch, scanner.logKind)
    if (verdict.kind === 'clean' || (await this.#goesOn(scanner))) return
    if (verdict.kind === 'torn') {
      this.#torn = { why: verdict.why }
    } else {
      const later = behind.later?.header
      this.#report({
        kind: verdict.kind,
        file,
        offset,
        why: verdict.why,
        lastMissingLsn: later === undefined ? undefined : later.firstLsn - 1,
      })
    }
  }

  /**
   * Whether the end was still being written. One batch is in flight at a time, so everything after
   * it was written after the scan.
   */
  async #goesOn(scanner: Scanner): Promise<boolean> {
    // A writer does not make a file unreadable.
    if (!this.#besideWriter || scanner.finding?.kind === 'read-error') return false
    scanner.retry()
    return (await scanner.next()) !== undefined
  }

  /** A checkpoint is made from sealed segments, so it cannot be ahead of the log. */
  #compareCheckpoint(): void {
    const lastLsn = this.#goodCheckpoints[0]?.previous.lastLsn ?? 0
    if (this.#depth === 'names' || lastLsn <= this.#end.lastLsn) return
    this.#report({
      kind: 'corrupt',
      file: checkpointPath(lastLsn),
      why: `it holds the state after LSN ${lastLsn}, but the log ends at LSN ${this.#end.lastLsn}`,
      lastMissingLsn: lastLsn,
    })
  }

  #isSuperseded(segment: Found): boolean {
    return this.#segments.some(({ header }) => supersedes(header, segment.header))
  }

  /** Keeps the first damage. Later ones follow from it, or have to wait until it is resolved. */
  #report(damage: Omit<Damage, 'firstMissingLsn' | 'acceptable'>): void {
    if (this.#damage !== undefined) return
    this.#damage = { firstMissingLsn: this.#end.lastLsn + 1, ...damage }
    if (this.#depth === 'names') return
    // This place is known only after reading to the end of the valid part.
    const acceptable: AcceptedLoss = { segment: this.#end.sequence, offset: this.#end.offset }
    this.#damage = { ...this.#damage, acceptable }
  }
}

const sequenceMax = Number.MAX_SAFE_INTEGER

/** A batch stores the epoch in 32 bits. */
const epochMax = 2 ** 32 - 1

function isAt(end: SegmentEnd, place: SegmentEnd): boolean {
  return end.offset === place.offset && end.chain === place.chain
}

function lastPossibleLsn({ firstLsn, segmentBytes }: DecodedFileHeader): Lsn {
  return firstLsn - 1 + Math.floor(segmentBytes / recordHeaderBytes)
}

function names(segments: readonly { readonly name: string }[]): string[] {
  return segments.map((segment) => segment.name)
}
