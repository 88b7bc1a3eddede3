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
import { judge } from '../scan/verdict.js'
import type { Depth, Examination, Gap, Segment } from './examination.js'
import { takeInventory } from './inventory.js'
import {
  type Beyond,
  compareHead,
  cutsOffUnreadable,
  type Found,
  findBeyond,
  findHole,
  precedesRun,
  supersedes,
  trustedRun,
  type Unreadable,
} from './lineage.js'

/**
 * Reads a log's directory and says what it is worth. Changes nothing, and throws only where the
 * question itself cannot be answered: no log, a newer format, a disk that does not read names.
 *
 * What can be trusted is always a run of segments from the start (or from what a good checkpoint
 * covers) up to one place, the `end`. Behind it lies nothing, or a torn write, or damage.
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
   * Somebody may be writing: an end that gets longer at a second look was only on its way. Never for
   * whoever goes on writing there, who has to see one picture.
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
    const { head, found, unreadable } = inventory
    this.#goodCheckpoints = inventory.goodCheckpoints
    const headSequence = typeof head === 'string' ? Number.MAX_SAFE_INTEGER : (head?.sequence ?? 0)
    const unfinished: Found[] = []
    for (const segment of found) {
      if (segment.header.sequence > headSequence && (await this.#isEmpty(segment))) {
        unfinished.push(segment)
      }
    }
    const present = found.filter((segment) => !unfinished.includes(segment))
    const checkpointLsn = this.#goodCheckpoints[0]?.previous.lastLsn
    const run = trustedRun(present, checkpointLsn ?? -1)
    const unlinked = unreadable.filter((it) => precedesRun(run, it))
    const doubtful = unreadable.filter((it) => !unlinked.includes(it))
    const isLog = present.length > 0 || checkpointLsn !== undefined
    const beyond =
      findBeyond(run, present, doubtful) ??
      compareHead(head, run.at(-1)?.header.sequence ?? 0, isLog)
    this.#noteHole(run, unlinked)
    await this.#scanRun(run, beyond)

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
    const segmentHeaders = found.map((segment) => segment.header)
    const everyHeader = [...segmentHeaders, ...this.#goodCheckpoints]
    return {
      fresh: head === undefined && present.length === 0 && this.#damage === undefined,
      logId: inventory.logId ?? this.#goodCheckpoints[0]?.logId,
      head,
      segments: this.#segments,
      end: this.#end,
      nextBatch: this.#nextBatch,
      highestSequence: Math.max(
        0,
        typeof head === 'object' ? head.sequence : 0,
        // Where no segment is left, the place that a checkpoint speaks of.
        this.#end.sequence,
        ...present.map((segment) => segment.header.sequence),
      ),
      highestEpoch: Math.max(
        0,
        typeof head === 'object' ? head.epoch : 0,
        ...everyHeader.map((header) => header.epoch),
        // As far as it is one: anybody can have put a file there.
        ...unreadable.map(({ epoch }) => (epoch < epochMax ? epoch : 0)),
      ),
      highestLsn: Math.max(
        this.#end.lastLsn,
        this.#damage?.lastMissingLsn ?? 0,
        ...segmentHeaders.map((header) => Math.max(header.previous.lastLsn, header.firstLsn - 1)),
        // Where something cannot be read, every record that there was room for may have been issued.
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
      beyond: [...names(cut), ...names(unread)],
      superseded: [...names(superseded), ...names(cutOff)],
      unfinished: names(unfinished),
      stranded: [...names(stranded), ...names(unlinked)].sort(),
      leftovers: inventory.leftovers,
    }
  }

  async #isEmpty(segment: Found): Promise<boolean> {
    return withFile(this.#disk, this.#layout.segment(segment.name), 'read', async (file) => {
      const scanner = new Scanner(file, segment.fileBytes, segment.header)
      if ((await scanner.next()) !== undefined) return false
      const { nonZero, readError } = await scanner.remainder()
      return !nonZero && readError === undefined
    })
  }

  /** Reads the run up to the first thing wrong with it, which may be what lies beyond it. */
  async #scanRun(run: readonly Found[], beyond: Beyond | undefined): Promise<void> {
    const checkpoint = this.#goodCheckpoints[0]
    const first = run[0]
    if (first !== undefined) this.#startAt(first.header.previous, first.header.firstBatch)
    else if (checkpoint !== undefined) this.#startAt(checkpoint.previous, 1)
    for (const [index, segment] of run.entries()) {
      const { header, name } = segment
      const next = run[index + 1]?.header
      const isCovered = next !== undefined && this.#isCovered(next.previous.lastLsn)
      // The next header pins where a covered segment ends: a scan finds what is missing before that
      // place, and nothing reads what is after it.
      if (segment.fileBytes !== header.segmentBytes && !isCovered) {
        const why = `it has ${segment.fileBytes} bytes where its header says ${header.segmentBytes}`
        this.#report({ kind: 'corrupt', file: segmentPath(name), why })
        return
      }
      this.#noteGap(header)
      if (next !== undefined && this.#isSkipped(next) && !(await this.#mayFork(segment, next)))
        this.#startAt(next.previous, next.firstBatch)
      else if (this.#depth === 'names')
        this.#startAt({ ...this.#end, sequence: header.sequence }, header.firstBatch)
      else await this.#scanSegment(segment, next ?? beyond)
      this.#segments.push({ name, header, end: this.#end })
      if (this.#damage !== undefined) return
    }
    if (beyond !== undefined) this.#report({ kind: 'corrupt', ...beyond })
    this.#compareCheckpoint()
  }

  /** Notes the records before the run that are lost, which the newest checkpoint covers. */
  #noteHole(run: readonly Found[], unlinked: readonly Unreadable[]): void {
    const [newest, older] = this.#goodCheckpoints.map(({ previous }) => previous.lastLsn)
    const hole = findHole(run, older, unlinked)
    if (hole === undefined || newest === undefined) return
    this.#historyDamage.push({ kind: 'corrupt', ...hole, coveredBy: newest })
  }

  /** Whether what lies before this segment need not be read. */
  #isSkipped(next: DecodedFileHeader): boolean {
    if (this.#depth !== 'recovery') return this.#depth === 'names'
    return this.#isCovered(next.previous.lastLsn)
  }

  /**
   * Whether something may stand behind the end that the next segment pins, of a writer that went on when it
   * was superseded. Where that end is the checkpoint's own, nothing covers what was written there.
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
        const place = new Place(header.logId, header.sequence)
        return decodeBatchHeader(bytes, place.crcAt(at))?.chain === chain
      })
    } catch (error) {
      // Whoever reads all of it says what that means.
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

  async #scanSegment(segment: Found, next: DecodedFileHeader | Beyond | undefined): Promise<void> {
    await withFile(this.#disk, this.#layout.segment(segment.name), 'read', async (file) => {
      const scanner = new Scanner(file, segment.fileBytes, segment.header)
      // What an accepted loss cut off is not looked at again, whatever it is.
      const isCut = next !== undefined && 'gap' in next && next.gap === 'accepted-loss'
      const limit = isCut ? next.previous.offset : Number.POSITIVE_INFINITY
      while (scanner.end.offset < limit) {
        const batch = await scanner.next()
        if (batch === undefined) break
        this.#records += batch.header.count
        this.#latestClockMs = Math.max(this.#latestClockMs, batch.header.clockMs)
        this.#starts = Math.max(this.#starts, batch.header.starts)
      }
      this.#startAt(scanner.end, scanner.nextBatch)
      this.#bytes += scanner.end.offset
      if (next === undefined) await this.#judgeEnd(segmentPath(segment.name), scanner)
      else if ('previous' in next) this.#compareEnd(segment, scanner, next)
    })
  }

  /** The next segment pins where this one ends; a valid part that ends elsewhere is damage. */
  #compareEnd({ name, header }: Found, scanner: Scanner, next: DecodedFileHeader): void {
    const { previous } = next
    const end = scanner.end
    const place = { kind: 'corrupt', file: segmentPath(name), offset: scanner.offset } as const
    if (end.offset === previous.offset && end.chain === previous.chain) return
    const { lastLsn } = previous
    if (end.offset < previous.offset) {
      const why =
        `${scanner.finding?.kind} found where acknowledged data should be: ` +
        `segment ${next.sequence} says that this one goes on to byte ${previous.offset} and LSN ${previous.lastLsn}`
      if (this.#isCovered(lastLsn)) {
        this.#reportCovered({ ...place, firstMissingLsn: end.lastLsn + 1, why }, next)
      } else this.#report({ ...place, lastMissingLsn: Math.max(lastLsn, end.lastLsn), why })
      return
    }
    const why =
      `two histories: this segment goes on to byte ${end.offset} and LSN ${end.lastLsn}, ` +
      `but segment ${next.sequence} of epoch ${next.epoch} says that it ends at byte ${previous.offset} ` +
      `and LSN ${previous.lastLsn}. Two writers must have been at work at once`
    if (this.#isInside(lastLsn)) {
      this.#reportCovered({ ...place, firstMissingLsn: header.firstLsn, why }, next)
      return
    }
    // What both share can be trusted.
    this.#startAt(previous, next.firstBatch)
    this.#report({ ...place, why })
  }

  #isCovered(lastLsn: Lsn): boolean {
    return lastLsn <= this.#coveredLsn
  }

  /** Whether the checkpoint covers what follows, too. */
  #isInside(lastLsn: Lsn): boolean {
    return lastLsn < this.#coveredLsn
  }

  get #coveredLsn(): Lsn {
    return this.#goodCheckpoints[0]?.previous.lastLsn ?? -1
  }

  /** Goes on behind it, as a recovery does that never reads there. */
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
    if (finding === undefined) throw new Error('a scan ended without a finding')
    const behind = await scanner.remainder()
    const verdict = judge(finding, behind, scanner.nextBatch)
    if (verdict.kind === 'clean' || (await this.#goesOn(scanner))) return
    if (verdict.kind === 'torn') {
      this.#torn = { contentEnd: behind.contentEnd, why: verdict.why }
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
   * Whether the end was where a writer was just at it. One batch is in flight at a time, so all that
   * stood behind it was written later than what was scanned.
   */
  async #goesOn(scanner: Scanner): Promise<boolean> {
    if (!this.#besideWriter) return false
    scanner.retry()
    return (await scanner.next()) !== undefined
  }

  /** A checkpoint is made from sealed segments, so none can know more than the log. */
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

  /** Keeps the first damage: the later ones follow from it, or have to wait for it. */
  #report(damage: Omit<Damage, 'firstMissingLsn' | 'acceptable'>): void {
    if (this.#damage !== undefined) return
    this.#damage = { firstMissingLsn: this.#end.lastLsn + 1, ...damage }
    if (this.#depth === 'names') return
    // Only who has read to the end of what is good knows which place that is.
    const acceptable: AcceptedLoss = { segment: this.#end.sequence, offset: this.#end.offset }
    this.#damage = { ...this.#damage, acceptable }
  }
}

/** A batch has 32 bits for it. */
const epochMax = 2 ** 32 - 1

function lastPossibleLsn({ firstLsn, segmentBytes }: DecodedFileHeader): Lsn {
  return firstLsn - 1 + Math.floor(segmentBytes / recordHeaderBytes)
}

function names(segments: readonly { readonly name: string }[]): string[] {
  return segments.map((segment) => segment.name)
}
