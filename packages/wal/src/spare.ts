import type { Clock, Timer } from './clock.js'
import type { Disk } from './disk.js'
import { saysNoSpace } from './errors.js'
import { removeIfPresent, withFile, writeFully } from './files.js'
import { type Layout, temporarySuffix } from './layout.js'
import { calmPieceBytes, hurriedPieceBytes, noSpaceRetryMs } from './limits.js'
import type { LogObserver } from './observer.js'

const zeros = new Uint8Array(hurriedPieceBytes)

/**
 * Makes a file of real zeros: a sparse one would reserve nothing. Piece by piece, each durable
 * before the next, because one large sync at the end would hold up the commits beside it.
 * `pieceAt` says how much to write next when so many bytes are there; 0 gives up.
 */
export async function makeZeroFile(
  disk: Disk,
  path: string,
  bytes: number,
  pieceAt: (filled: number) => number = () => calmPieceBytes,
): Promise<void> {
  await removeIfPresent(disk, path)
  await withFile(disk, path, 'create', async () => {})
  await withFile(disk, path, 'durable', async (file) => {
    let filled = 0
    while (filled < bytes) {
      const piece = zeros.subarray(0, Math.min(pieceAt(filled), bytes - filled))
      if (piece.length === 0) return
      await writeFully(file, piece, filled)
      filled += piece.length
    }
    await file.sync()
  })
}

export interface Spare {
  readonly path: string
  readonly bytes: number
}

type Mode = 'idle' | 'preparing' | 'ready' | 'starved' | 'closed'

/**
 * Keeps the next segment ready, so that a full disk shows here and not in the middle of a commit.
 *
 *     idle ──prepare──▶ preparing ──▶ ready ──take──▶ idle
 *                        │     ▲
 *                no room ▼     │ after a while
 *                       starved
 *
 * `stop` ends all of it.
 */
export class SpareKeeper {
  readonly #disk: Disk
  readonly #clock: Clock
  readonly #path: string
  readonly #observer: LogObserver
  readonly #isHurried: (share: number) => boolean
  readonly #onChange: () => void
  readonly #onFailure: (error: unknown) => void

  #mode: Mode = 'idle'
  #isStarved = false
  #bytes = 0
  #work: Promise<void> = Promise.resolve()
  #retry: Timer | undefined

  constructor(options: {
    disk: Disk
    clock: Clock
    layout: Layout
    epoch: number
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
    this.#observer = options.observer
    this.#isHurried = options.isHurried
    this.#onChange = options.onChange
    this.#onFailure = options.onFailure
  }

  get isReady(): boolean {
    return this.#mode === 'ready'
  }

  /** The last finished attempt found no room. */
  get isStarved(): boolean {
    return this.#isStarved
  }

  /** Starts with a spare that is there already, under this epoch's name. */
  adopt(bytes: number): void {
    this.#bytes = bytes
    this.#setMode('ready')
  }

  /** Begins to make a spare of this size, unless there is one. */
  prepare(bytes: number): void {
    if (this.#mode !== 'idle') return
    this.#bytes = bytes
    this.#setMode('preparing')
    this.#work = this.#make()
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

  async #make(): Promise<void> {
    const startedMs = this.#clock.monotonicMs()
    const temporary = this.#path + temporarySuffix
    try {
      await makeZeroFile(this.#disk, temporary, this.#bytes, (filled) => this.#pieceAt(filled))
      if (this.#mode !== 'preparing') {
        await removeIfPresent(this.#disk, temporary)
        return
      }
      await this.#disk.rename(temporary, this.#path)
    } catch (error) {
      if (!saysNoSpace(error)) this.#onFailure(error)
      else await this.#starve(temporary)
      return
    }
    this.#observer.sparePrepared?.({
      bytes: this.#bytes,
      durationMs: this.#clock.monotonicMs() - startedMs,
    })
    this.#setMode('ready')
    this.#onChange()
  }

  #pieceAt(filled: number): number {
    if (this.#mode !== 'preparing') return 0
    return this.#isHurried(filled / this.#bytes) ? hurriedPieceBytes : calmPieceBytes
  }

  async #starve(temporary: string): Promise<void> {
    try {
      await removeIfPresent(this.#disk, temporary)
    } catch (error) {
      this.#onFailure(error)
      return
    }
    if (this.#mode !== 'preparing') return
    this.#setMode('starved')
    this.#retry = this.#clock.setTimer(noSpaceRetryMs, () => {
      this.#setMode('preparing')
      this.#work = this.#make()
    })
    this.#onChange()
  }

  #setMode(mode: Mode): void {
    if (this.#mode === 'closed') return
    this.#mode = mode
    // While another attempt is on its way, what the last one found still holds.
    const isStarved = mode === 'preparing' ? this.#isStarved : mode === 'starved'
    if (isStarved === this.#isStarved) return
    this.#isStarved = isStarved
    this.#observer.spaceChanged?.(isStarved)
  }
}
