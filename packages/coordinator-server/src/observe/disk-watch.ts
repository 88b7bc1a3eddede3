import type { LogObserver } from '@tenure/wal'

/** Every hook is optional; none may throw. */
export interface DiskObserver {
  /** There is less room than the operator wants to be told of; or there is enough again. */
  diskLow?(isLow: boolean, freeBytes: number): void
}

/** How much room the disk has: by what the log says, and by looking. It tells before a full disk does. */
export class DiskWatch {
  readonly #lowBytes: number
  readonly #observer: DiskObserver
  #isFull = false
  #freeBytes = Number.NaN
  #isLow = false
  #isLooking = false

  constructor(lowBytes: number, observer: DiskObserver) {
    this.#lowBytes = lowBytes
    this.#observer = observer
  }

  /** What the log tells. */
  readonly ofLog: LogObserver = {
    spaceChanged: (isFull) => {
      this.#isFull = isFull
    },
  }

  /** Whether the log has no room for its next segment. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** As seen last; no number where the disk does not say. */
  get freeBytes(): number {
    return this.#freeBytes
  }

  /** To be called from time to time. */
  async look(disk: { freeBytes(): Promise<number> }): Promise<void> {
    // A disk that hangs is asked once.
    if (this.#isLooking) return
    this.#isLooking = true
    // A disk that cannot be asked shows when it cannot be written.
    this.#freeBytes = await disk.freeBytes().catch(() => Number.NaN)
    this.#isLooking = false
    const isLow = this.#freeBytes < this.#lowBytes
    const isAmple = this.#freeBytes >= this.#lowBytes * amplerThanLow
    if (this.#isLow ? isAmple : isLow) {
      this.#isLow = !this.#isLow
      this.#observer.diskLow?.(this.#isLow, this.#freeBytes)
    }
  }
}

/** Around the mark it is not told again and again. */
const amplerThanLow = 1.1
