import type { Clock, Timer } from '@tenure/seams'
import type { Disk } from '../disk/disk.js'
import { removeIfPresent } from '../disk/files.js'
import { saysNoSpace } from '../errors.js'
import { type Layout, temporarySuffix } from '../format/layout.js'
import {
  calmPieceBytes,
  hurriedPieceBytes,
  noSpaceRetryMs,
  noSpaceRetryMsMax,
} from '../format/limits.js'
import type { LogObserver } from '../options.js'
import { freeSpaceOn, makeZeroFile, NoSpace, type ZeroFile } from './zero-file.js'

export type Spare = ZeroFile

type Mode = 'idle' | 'preparing' | 'ready' | 'starved' | 'closed'

/**
 * Prepares the next segment in advance, so that a full disk is noticed here and not during a commit.
 * Before the spare it makes the reserve, a small file that only an open of the log may use. Every open
 * creates a segment, and by then a full disk may have turned the spare into one.
 *
 *     idle ──prepare──▶ preparing ──▶ ready ──take──▶ idle
 *                        │     ▲
 *               no space ▼     │ after a while
 *                       starved
 *
 * `stop` leads to the closed state. While the keeper prepares, the log accepts records as if the spare
 * existed. So the keeper checks the free space before it writes, because an attempt may take longer
 * than filling a whole segment.
 */
export class SpareKeeper {
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #path: string
  readonly #directory: string
  /** The place of the reserve while it does not exist. */
  #reserve: ZeroFile | undefined
  readonly #bytesMin: number
  readonly #observer: LogObserver
  readonly #isHurried: (share: number) => boolean
  readonly #onChange: () => void
  readonly #onFailure: (error: unknown) => void

  #mode: Mode = 'idle'
  #isStarved = false
  /** Size of the spare, or of the one in preparation. */
  #bytes = 0
  #retryMs = noSpaceRetryMs
  #work: Promise<void> = Promise.resolve()
  #retry: Timer | undefined

  constructor(options: {
    disk: Disk
    clock: Clock
    layout: Layout
    epoch: number
    /** The size of a reserve. A spare is never smaller. */
    bytesMin: number
    hasReserve: boolean
    observer: LogObserver
    /** Whether more than this share of the current segment is used. */
    isHurried: (share: number) => boolean
    /** A spare is ready, or the disk has no space for one. */
    onChange: () => void
    /** The disk failed in a way that does not pass by itself. */
    onFailure: (error: unknown) => void
  }) {
    this.#disk = options.disk
    this.#clock = options.clock
    this.#path = options.layout.spare(options.epoch)
    this.#directory = options.layout.segments
    this.#bytesMin = options.bytesMin
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

  /** Starts with an existing spare that has this epoch's name. */
  adopt(bytes: number): void {
    this.#bytes = bytes
    this.#setMode('ready')
  }

  /**
   * Starts to prepare a spare of this size, unless there is one. With little space the spare is
   * smaller. Resolves when it is known whether the disk has space.
   */
  prepare(bytes: number): Promise<void> {
    if (this.#mode !== 'idle') return Promise.resolve()
    this.#setMode('preparing')
    const asked = this.#askForRoom(bytes)
    this.#work = asked.then(() => this.#make(bytes))
    return asked
  }

  /** Hands the spare to the caller if it is ready. */
  take(): Spare | undefined {
    if (this.#mode !== 'ready') return undefined
    this.#setMode('idle')
    return { path: this.#path, bytes: this.#bytes }
  }

  /**
   * Stops all preparation. A ready spare stays for the next writer. `stopped` waits for work in
   * progress.
   */
  stop(): void {
    this.#retry?.cancel()
    this.#mode = 'closed'
  }

  /** Resolves when no write is in progress. */
  async stopped(): Promise<void> {
    await this.#work
  }

  async #askForRoom(wantedBytes: number): Promise<void> {
    // The reserve is made first.
    const free = (await this.#freeSpace()) - (this.#reserve?.bytes ?? 0)
    if (this.#mode !== 'preparing' || this.#affordable(wantedBytes, free) <= free) return
    this.#setStarved(true)
    this.#onChange()
  }

  async #make(wantedBytes: number): Promise<void> {
    const startedMs = this.#clock.monotonicMs()
    try {
      await this.#keepReserve()
      this.#bytes = this.#affordable(wantedBytes, await this.#freeSpace())
      await this.#fill({ path: this.#path, bytes: this.#bytes })
    } catch (error) {
      if (error instanceof Stopped) return
      if (saysNoSpace(error)) this.#starve(wantedBytes, error)
      else this.#onFailure(error)
      return
    }
    this.#retryMs = noSpaceRetryMs
    this.#observer.sparePrepared?.({
      bytes: this.#bytes,
      durationMs: this.#clock.monotonicMs() - startedMs,
    })
    this.#setMode('ready')
    this.#onChange()
  }

  async #keepReserve(): Promise<void> {
    if (this.#reserve === undefined) return
    await this.#fill(this.#reserve)
    await this.#disk.syncDirectory(this.#directory)
    this.#reserve = undefined
  }

  /**
   * Uses at most half of the space when it gets short, but at least the minimum. The rest allows a
   * checkpoint after the roll, and then old segments can be removed.
   */
  #affordable(wantedBytes: number, free: number): number {
    let bytes = wantedBytes
    while (bytes > free / 2 && bytes / 2 >= this.#bytesMin) bytes = Math.floor(bytes / 2)
    return bytes
  }

  #freeSpace(): Promise<number> {
    return freeSpaceOn(this.#disk, this.#directory)
  }

  /** Uses a temporary name first, so that the next open knows that the file may be incomplete. */
  async #fill({ path, bytes }: ZeroFile): Promise<void> {
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
  #starve(wantedBytes: number, error: unknown): void {
    if (this.#mode !== 'preparing') return
    this.#setMode('starved')
    if (error instanceof NoSpace) this.#retryMs = noSpaceRetryMs
    this.#retry = this.#clock.setTimer(this.#retryMs, () => {
      this.#setMode('preparing')
      this.#work = this.#make(wantedBytes)
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
