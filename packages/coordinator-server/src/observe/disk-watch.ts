/** Every hook is optional; none may throw. */
export interface DiskObserver {
  /** There is less room than the operator wants to be told of; or there is enough again. */
  diskLow?(isLow: boolean, freeBytes: number): void
}

/** Tells before a full disk does. */
export class DiskWatch {
  readonly #freeBytesOf: () => Promise<number>
  readonly #lowBytes: number
  readonly #observer: DiskObserver
  #freeBytes = Number.NaN
  #isLow = false
  #isLooking = false

  constructor(freeBytesOf: () => Promise<number>, lowBytes: number, observer: DiskObserver) {
    this.#freeBytesOf = freeBytesOf
    this.#lowBytes = lowBytes
    this.#observer = observer
  }

  /** As seen last; no number where the disk does not say. */
  get freeBytes(): number {
    return this.#freeBytes
  }

  /** To be called from time to time. */
  async look(): Promise<void> {
    // A disk that hangs is asked once.
    if (this.#isLooking) return
    this.#isLooking = true
    // A disk that cannot be asked shows when it cannot be written.
    this.#freeBytes = await this.#freeBytesOf().catch(() => Number.NaN)
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
