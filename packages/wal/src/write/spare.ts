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
import { makeZeroFile, NoRoom, roomOn, type ZeroFile } from './zero-file.js'

export type Spare = ZeroFile

type Mode = 'idle' | 'preparing' | 'ready' | 'starved' | 'closed'

/**
 * Keeps the next segment ready, so that a full disk shows here and not in the middle of a commit. The
 * reserve comes before it, a small file that only an opening may use: every opening begins a segment,
 * and on a disk that filled up meanwhile the spare has long become one.
 *
 *     idle ──prepare──▶ preparing ──▶ ready ──take──▶ idle
 *                        │     ▲
 *                no room ▼     │ after a while
 *                       starved
 *
 * `stop` ends all of it. While the keeper prepares, the log takes records on trust, so the disk is asked
 * for room before anything is written: an attempt may take longer than filling a whole segment.
 */
export class SpareKeeper {
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #path: string
  readonly #directory: string
  /** Where the reserve is to be, as long as it is not there. */
  #reserve: ZeroFile | undefined
  readonly #bytesMin: number
  readonly #observer: LogObserver
  readonly #isHurried: (share: number) => boolean
  readonly #onChange: () => void
  readonly #onFailure: (error: unknown) => void

  #mode: Mode = 'idle'
  #isStarved = false
  /** How large the spare is to be, or is. */
  #bytes = 0
  #retryMs = noSpaceRetryMs
  #work: Promise<void> = Promise.resolve()
  #retry: Timer | undefined

  constructor(options: {
    disk: Disk
    clock: Clock
    layout: Layout
    epoch: number
    /** The size of a reserve. No spare is smaller. */
    bytesMin: number
    hasReserve: boolean
    observer: LogObserver
    /** Whether more than this share of the segment in use is taken. */
    isHurried: (share: number) => boolean
    /** A spare is ready, or there turned out to be no room for one. */
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

  /** The disk had no room when it was asked last, or the last finished attempt found none. */
  get isStarved(): boolean {
    return this.#isStarved
  }

  /** Starts with a spare that is there already, under this epoch's name. */
  adopt(bytes: number): void {
    this.#bytes = bytes
    this.#setMode('ready')
  }

  /**
   * Begins to make a spare of this size, unless there is one. Where there is less room, it gets smaller.
   * Resolves when the disk has said whether there is room.
   */
  prepare(bytes: number): Promise<void> {
    if (this.#mode !== 'idle') return Promise.resolve()
    this.#setMode('preparing')
    const asked = this.#askForRoom(bytes)
    this.#work = asked.then(() => this.#make(bytes))
    return asked
  }

  /** The spare, when it is ready. It is the caller's from then on. */
  take(): Spare | undefined {
    if (this.#mode !== 'ready') return undefined
    this.#setMode('idle')
    return { path: this.#path, bytes: this.#bytes }
  }

  /** Begins nothing more. A ready spare stays for the next writer; `stopped` waits for the rest. */
  stop(): void {
    this.#retry?.cancel()
    this.#mode = 'closed'
  }

  /** Resolves when nothing is being written any more. */
  async stopped(): Promise<void> {
    await this.#work
  }

  async #askForRoom(wantedBytes: number): Promise<void> {
    // The reserve is made first.
    const room = (await this.#room()) - (this.#reserve?.bytes ?? 0)
    if (this.#mode !== 'preparing' || this.#affordable(wantedBytes, room) <= room) return
    this.#setStarved(true)
    this.#onChange()
  }

  async #make(wantedBytes: number): Promise<void> {
    const startedMs = this.#clock.monotonicMs()
    try {
      await this.#keepReserve()
      this.#bytes = this.#affordable(wantedBytes, await this.#room())
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
   * Half of the room, where it gets short, but no less than there has to be: a roll lets a checkpoint
   * be made, which needs room itself, and then old segments can go.
   */
  #affordable(wantedBytes: number, room: number): number {
    let bytes = wantedBytes
    while (bytes > room / 2 && bytes / 2 >= this.#bytesMin) bytes = Math.floor(bytes / 2)
    return bytes
  }

  #room(): Promise<number> {
    return roomOn(this.#disk, this.#directory)
  }

  /** Makes the file under another name first, which tells the next opening that it may be incomplete. */
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

  /** Asking costs nothing. Zeros that were written in vain are not written again so soon. */
  #starve(wantedBytes: number, error: unknown): void {
    if (this.#mode !== 'preparing') return
    this.#setMode('starved')
    if (error instanceof NoRoom) this.#retryMs = noSpaceRetryMs
    this.#retry = this.#clock.setTimer(this.#retryMs, () => {
      this.#setMode('preparing')
      this.#work = this.#make(wantedBytes)
    })
    if (!(error instanceof NoRoom)) this.#retryMs = Math.min(2 * this.#retryMs, noSpaceRetryMsMax)
    this.#onChange()
  }

  #setMode(mode: Mode): void {
    if (this.#mode === 'closed') return
    this.#mode = mode
    // While another attempt is on its way, what the last one found still holds.
    if (mode !== 'preparing') this.#setStarved(mode === 'starved')
  }

  #setStarved(isStarved: boolean): void {
    if (isStarved === this.#isStarved) return
    this.#isStarved = isStarved
    this.#observer.spaceChanged?.(isStarved)
  }
}

/** The log was closed, or has ended, while a file was being made. */
class Stopped extends Error {}
