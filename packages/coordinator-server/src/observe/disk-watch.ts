import type { LogObserver } from '@tenure/wal'

/** Every hook is optional and must not throw. */
export interface DiskObserver {
  /** Free space fell below the configured limit, or is sufficient again. */
  diskLow?(isLow: boolean, freeBytes: number): void
}

/** Watches disk space, from the log's reports and by polling. It warns before the disk is full. */
export class DiskWatch {
  readonly #lowBytes: number
  readonly #observer: DiskObserver
  #isFull = false
  #freeBytes = Number.NaN
  #isLow = false
  #isQuerying = false

  constructor(lowBytes: number, observer: DiskObserver) {
    this.#lowBytes = lowBytes
    this.#observer = observer
  }

  /** Receives the log's reports. */
  readonly logObserver: LogObserver = {
    spaceChanged: (isFull) => {
      this.#isFull = isFull
    },
  }

  /** Whether the log has no space for its next segment. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** The last known free space; NaN when it is unknown. */
  get freeBytes(): number {
    return this.#freeBytes
  }

  /** Updates the free space. Call it regularly. */
  async refresh(disk: { freeBytes(): Promise<number> }): Promise<void> {
    // Start no second query while a hung disk has not answered the first.
    if (this.#isQuerying) return
    this.#isQuerying = true
    // A disk that fails this query reports its errors on writes.
    this.#freeBytes = await disk.freeBytes().catch(() => Number.NaN)
    this.#isQuerying = false
    const isLow = this.#freeBytes < this.#lowBytes
    const isAmple = this.#freeBytes >= this.#lowBytes * sufficientFactor
    if (this.#isLow ? isAmple : isLow) {
      this.#isLow = !this.#isLow
      this.#observer.diskLow?.(this.#isLow, this.#freeBytes)
    }
  }
}

/** Hysteresis, so that free space near the limit does not cause repeated events. */
const sufficientFactor = 1.1
