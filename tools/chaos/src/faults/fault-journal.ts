import { appendFileSync } from 'node:fs'

/** What was done to whom, by the clock on the wall. */
export interface FaultLine {
  readonly kind: FaultKind
  /** A process by its name, `network` or `disk`. */
  readonly target: string
  readonly fromMs: number
  readonly toMs: number
}

export type FaultKind = 'kill' | 'stop' | 'cut' | 'stall' | 'fill'

/** Writes down each fault when it is over; and when the disk was full, for whoever has to know at once. */
export class FaultJournal {
  readonly #path: string
  #fullSinceMs: number | undefined
  #roomSinceMs = Number.NEGATIVE_INFINITY
  #fills = 0

  constructor(path: string) {
    this.#path = path
  }

  /** How often the disk was filled until now. */
  get fills(): number {
    return this.#fills
  }

  /** Whether it is full, or was so short a time ago that somebody may not know better yet. */
  wasFullWithin(ms: number): boolean {
    return this.#fullSinceMs !== undefined || Date.now() - this.#roomSinceMs <= ms
  }

  async record(kind: FaultKind, target: string, strike: () => Promise<void>): Promise<void> {
    const fromMs = Date.now()
    if (kind === 'fill') {
      this.#fills++
      this.#fullSinceMs = fromMs
    }
    try {
      await strike()
    } finally {
      const toMs = Date.now()
      if (kind === 'fill') {
        this.#fullSinceMs = undefined
        this.#roomSinceMs = toMs
      }
      const line: FaultLine = { kind, target, fromMs, toMs }
      appendFileSync(this.#path, `${JSON.stringify(line)}\n`)
    }
  }
}
