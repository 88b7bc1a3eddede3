import { appendFileSync } from 'node:fs'

/** A fault, its target, and its time by the wall clock. */
export interface FaultLine {
  readonly kind: FaultKind
  /** A process by its name, `network` or `disk`. */
  readonly target: string
  readonly fromMs: number
  readonly toMs: number
}

export type FaultKind = 'kill' | 'stop' | 'cut' | 'stall' | 'fill'

/** Writes each fault to a file when it is over, and knows immediately whether the disk is full. */
export class FaultJournal {
  readonly #path: string
  #fullSinceMs: number | undefined
  #roomSinceMs = Number.NEGATIVE_INFINITY
  #fills = 0

  constructor(path: string) {
    this.#path = path
  }

  /** How often the disk has been filled. */
  get fills(): number {
    return this.#fills
  }

  /** Whether the disk is full, or was full this recently: a process may notice new space later. */
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
