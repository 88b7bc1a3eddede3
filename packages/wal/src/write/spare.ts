import type { Clock, Timer } from '@tenure/seams'
import type { Disk, OpenMode } from '../disk/disk.js'
import { removeIfPresent } from '../disk/files.js'
import { saysNoSpace } from '../errors.js'
import { alignDown } from '../format/bytes.js'
import type { FileHeader } from '../format/file-header.js'
import { type Layout, temporarySuffix } from '../format/layout.js'
import {
  calmPieceBytes,
  hurriedPieceBytes,
  noSpaceRetryMs,
  noSpaceRetryMsMax,
  sectorBytes,
  spareFilesMax,
} from '../format/limits.js'
import type { LogObserver } from '../options.js'
import {
  type PreparedFile,
  prepareSegmentFile,
  type ReservedFile,
  type SealedSegment,
} from './segment-file.js'
import type { SparePool } from './spare-pool.js'
import { freeSpaceOn, makeZeroFile, NoSpace } from './zero-file.js'

type Mode = 'idle' | 'preparing' | 'ready' | 'starved' | 'closed'

/** Which segment is next, and how large it should be. */
export interface NextSegment extends Pick<FileHeader, 'sequence' | 'epoch'> {
  readonly bytes: number
}

/**
 * Prepares the next segment's file in advance: one that was a segment before, or a new one of zeros.
 * So a full disk is noticed here and not during a commit, and a segment begins with two writes.
 * Before all it makes the reserve, a small file that only an open of the log may use. Every open
 * creates a segment, and by then a full disk may have turned all spares into segments.
 *
 *     idle ──prepare──▶ preparing ──▶ ready ──take──▶ idle
 *                        │     ▲
 *               no space ▼     │ after a while, or when a truncation frees a file
 *                       starved
 *
 * `stop` leads to the closed state. While the keeper prepares, the log accepts records as if the file
 * existed. So the keeper checks the free space before it writes, because an attempt may take longer
 * than filling a whole segment.
 */
export class SpareKeeper {
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #layout: Layout
  readonly #pool: SparePool
  readonly #openMode: OpenMode
  /** The reserve while it does not exist. */
  #reserve: ReservedFile | undefined
  readonly #bytesMin: number
  readonly #bytesMax: number
  readonly #observer: LogObserver
  readonly #isHurried: (share: number) => boolean
  readonly #onChange: () => void
  readonly #onFailure: (error: unknown) => void

  #mode: Mode = 'idle'
  #isStarved = false
  #ready: PreparedFile | undefined
  #next: NextSegment | undefined
  /** How many segments began since the last truncation. The next truncation keeps as many files. */
  #taken = 0
  #retryMs = noSpaceRetryMs
  #work: Promise<void> = Promise.resolve()
  #retry: Timer | undefined

  constructor(options: {
    disk: Disk
    clock: Clock
    layout: Layout
    epoch: number
    pool: SparePool
    openMode: OpenMode
    /** The size of a reserve. A segment is never smaller. */
    bytesMin: number
    /** The size of a full segment. */
    bytesMax: number
    hasReserve: boolean
    observer: LogObserver
    /** Whether more than this share of the current segment is used. */
    isHurried: (share: number) => boolean
    /** The next segment is ready, or the disk has no space for one. */
    onChange: () => void
    /** The disk failed in a way that does not pass by itself. */
    onFailure: (error: unknown) => void
  }) {
    this.#disk = options.disk
    this.#clock = options.clock
    this.#layout = options.layout
    this.#pool = options.pool
    this.#openMode = options.openMode
    this.#bytesMin = options.bytesMin
    this.#bytesMax = options.bytesMax
    this.#reserve = options.hasReserve
      ? undefined
      : { path: options.layout.reserve(options.epoch), bytes: options.bytesMin }
    this.#observer = options.observer
    this.#isHurried = options.isHurried
    this.#onChange = options.onChange
    this.#onFailure = options.onFailure
  }

  /** Whether the disk had no space at the last check or in the last finished attempt. */
  get isStarved(): boolean {
    return this.#isStarved
  }

  /**
   * Starts to prepare the segment, unless there is one. With little space it is smaller. Resolves
   * when it is known whether the disk has space.
   */
  prepare(next: NextSegment): Promise<void> {
    if (this.#mode !== 'idle') return Promise.resolve()
    this.#next = next
    this.#setMode('preparing')
    const asked = this.#askForRoom(next.bytes)
    this.#work = asked.then(() => this.#make(next))
    return asked
  }

  /** Hands the prepared file to the caller if it is ready. */
  take(): PreparedFile | undefined {
    if (this.#mode !== 'ready') return undefined
    this.#setMode('idle')
    this.#taken++
    const ready = this.#ready
    this.#ready = undefined
    return ready
  }

  /**
   * Keeps the file of a segment that is no longer part of the log, or removes it. Keeps as many as
   * the log used since the last truncation, if they take no more than half of the space.
   */
  async recycle(segment: SealedSegment): Promise<ReservedFile | undefined> {
    const path = this.#layout.segment(segment.name)
    const isWanted =
      this.#mode !== 'closed' &&
      segment.header.segmentBytes >= this.#bytesMax &&
      this.#pool.count < Math.min(spareFilesMax, this.#taken)
    if (isWanted && (await this.#affordsSpare()) && !(await this.#disk.isPinned(path))) {
      return this.#pool.rename(segment)
    }
    await removeIfPresent(this.#disk, path)
    return undefined
  }

  /** A recycled file's new name is durable. */
  add(file: ReservedFile): void {
    this.#pool.add(file)
    const next = this.#next
    if (this.#mode !== 'starved' || next === undefined) return
    this.#retry?.cancel()
    this.#setMode('preparing')
    this.#work = this.#make(next)
  }

  /** A truncation has ended. The next one keeps as many files as the log uses until then. */
  truncated(): void {
    this.#taken = 0
  }

  /** Stops all preparation. `stopped` waits for work in progress. */
  stop(): void {
    this.#retry?.cancel()
    this.#mode = 'closed'
  }

  /** Resolves when no write is in progress, and the prepared file is closed. */
  async stopped(): Promise<void> {
    await this.#work
    await this.#ready?.file.close()
  }

  /** Leaves the prepared file to the next open. Without this, that open removes it. */
  async leaveSpare(): Promise<void> {
    if (this.#ready === undefined || this.#next === undefined) return
    const { epoch, sequence } = this.#next
    const path = this.#layout.segment(this.#ready.name)
    await this.#disk.rename(path, this.#layout.spare(epoch, sequence))
    this.#ready = undefined
  }

  async #askForRoom(wantedBytes: number): Promise<void> {
    const free = await this.#freeSpace()
    if (this.#mode !== 'preparing') return
    // Other programs may have filled the disk since the files were kept.
    if (free < this.#pool.bytes) await this.#pool.shrink(1)
    if (this.#pool.count > 0 || this.#affordable(wantedBytes, free) <= free) return
    this.#setStarved(true)
    this.#onChange()
  }

  async #make(next: NextSegment): Promise<void> {
    const startedMs = this.#clock.monotonicMs()
    try {
      await this.#keepReserve()
      const reserved = this.#pool.take(next.bytes) ?? (await this.#makeNew(next))
      this.#ready = await prepareSegmentFile(
        this.#disk,
        this.#layout,
        reserved,
        next,
        this.#openMode,
      )
    } catch (error) {
      if (error instanceof Stopped) return
      if (saysNoSpace(error)) this.#starve(next, error)
      else this.#onFailure(error)
      return
    }
    this.#retryMs = noSpaceRetryMs
    const { bytes } = this.#ready
    const durationMs = this.#clock.monotonicMs() - startedMs
    this.#observer.sparePrepared?.({ bytes, durationMs })
    this.#setMode('ready')
    this.#onChange()
  }

  async #keepReserve(): Promise<void> {
    if (this.#reserve === undefined) return
    await this.#fill(this.#reserve)
    await this.#disk.syncDirectory(this.#layout.segments)
    this.#reserve = undefined
  }

  /** A new file of zeros, or without space for one any spare. */
  async #makeNew({ bytes: wantedBytes, sequence, epoch }: NextSegment): Promise<ReservedFile> {
    const path = this.#layout.spare(epoch, sequence)
    const file = { path, bytes: this.#affordable(wantedBytes, await this.#freeSpace()) }
    try {
      await this.#fill(file)
      return file
    } catch (error) {
      const spare = saysNoSpace(error) ? this.#pool.take(this.#bytesMin) : undefined
      if (spare === undefined) throw error
      return spare
    }
  }

  /**
   * Uses at most half of the space when it gets short, but at least the minimum. The rest allows a
   * checkpoint after the roll, and then old segments can be removed.
   */
  #affordable(wantedBytes: number, free: number): number {
    let bytes = wantedBytes
    while (bytes > free / 2 && bytes / 2 >= this.#bytesMin) {
      bytes = alignDown(bytes / 2, sectorBytes)
    }
    return bytes
  }

  async #affordsSpare(): Promise<boolean> {
    if (this.#pool.count === 0) return true
    return this.#pool.bytes + this.#bytesMax <= (await this.#freeSpace())
  }

  /** Free space, without what the reserve still needs. */
  async #freeSpace(): Promise<number> {
    const free = await freeSpaceOn(this.#disk, this.#layout.segments)
    return free - (this.#reserve?.bytes ?? 0)
  }

  /** Uses a temporary name first, so that the next open knows that the file may be incomplete. */
  async #fill({ path, bytes }: ReservedFile): Promise<void> {
    const temporary = path + temporarySuffix
    try {
      await makeZeroFile(this.#disk, { path: temporary, bytes }, (filled) =>
        this.#pieceAt(filled / bytes),
      )
      if (this.#mode !== 'preparing') throw new Stopped()
    } catch (error) {
      if (saysNoSpace(error) || error instanceof Stopped) {
        await removeIfPresent(this.#disk, temporary)
      }
      throw error
    }
    await this.#disk.rename(temporary, path)
  }

  #pieceAt(share: number): number {
    if (this.#mode !== 'preparing') return 0
    return this.#isHurried(share) ? hurriedPieceBytes : calmPieceBytes
  }

  /** Checking for space is cheap. Writing zeros is not, so after a vain attempt the keeper waits longer. */
  #starve(next: NextSegment, error: unknown): void {
    if (this.#mode !== 'preparing') return
    this.#setMode('starved')
    if (error instanceof NoSpace) this.#retryMs = noSpaceRetryMs
    this.#retry = this.#clock.setTimer(this.#retryMs, () => {
      this.#setMode('preparing')
      this.#work = this.#make(next)
    })
    if (!(error instanceof NoSpace)) this.#retryMs = Math.min(2 * this.#retryMs, noSpaceRetryMsMax)
    this.#onChange()
  }

  #setMode(mode: Mode): void {
    if (this.#mode === 'closed') return
    this.#mode = mode
    // While another attempt runs, the result of the last one still holds.
    if (mode !== 'preparing') this.#setStarved(mode === 'starved')
  }

  #setStarved(isStarved: boolean): void {
    if (isStarved === this.#isStarved) return
    this.#isStarved = isStarved
    this.#observer.spaceChanged?.(isStarved)
  }
}

/** The log was closed or failed while a file was being prepared. */
class Stopped extends Error {}
