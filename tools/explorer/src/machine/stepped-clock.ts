interface Entry {
  readonly dueMs: number
  readonly callback: () => void
}

/** A clock that stands still between two actions and fires no timers by itself. */
export class SteppedClock {
  readonly #wallMs: number
  #ms: number
  #nextReadingMs: number | undefined
  /** In the order in which they fire. */
  readonly #timers: Entry[] = []

  constructor(wallMs: number, monotonicMs: number) {
    this.#wallMs = wallMs
    this.#ms = monotonicMs
  }

  now(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    const ms = this.#nextReadingMs ?? this.#ms
    this.#nextReadingMs = undefined
    return ms
  }

  get ms(): number {
    return this.#ms
  }

  set(ms: number): void {
    this.#ms = ms
  }

  /** The next read of the clock returns this; later reads return the present. */
  readNext(ms: number): void {
    this.#nextReadingMs = ms
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    const entry = { dueMs: this.#ms + Math.max(0, delayMs), callback }
    const behind = this.#timers.findIndex((other) => other.dueMs > entry.dueMs)
    this.#timers.splice(behind === -1 ? this.#timers.length : behind, 0, entry)
    return {
      cancel: () => {
        const at = this.#timers.indexOf(entry)
        if (at !== -1) this.#timers.splice(at, 1)
      },
    }
  }

  /** Only queries use it. They are not explored, because they change nothing. */
  soon(): void {
    throw new Error('queries are not explored')
  }

  get nextTimerMs(): number | undefined {
    return this.#timers[0]?.dueMs
  }

  isDue(): boolean {
    return this.#timers[0] !== undefined && this.#timers[0].dueMs <= this.#ms
  }

  /** Fires due timers; timers that are set meanwhile wait for the next call. */
  ring(): void {
    const count = this.#timers.filter(({ dueMs }) => dueMs <= this.#ms).length
    for (const { callback } of this.#timers.splice(0, count)) callback()
  }
}
