/**
 * Time that passes only when a test says so.
 *
 * Code under test reads the clock and sets timers as usual. `advance` runs due timers one by one, and lets
 * each one's consequences settle before the next. The wall clock can jump and drift relative to the monotonic
 * clock, as on real machines.
 */
export interface SimulatedClockOptions {
  /** The initial wall clock time. */
  readonly startMs?: number
  /**
   * Where `soon` callbacks run. `immediate` (the default): in a real `setImmediate`, without driving the
   * clock. `manual`: only inside `settle` and `advance`.
   */
  readonly soon?: 'immediate' | 'manual'
}

interface Entry {
  readonly dueMs: number
  readonly callback: () => void
}

const startMsDefault = Date.UTC(2026, 0, 1)
/** Not zero, so that monotonic time is not mistaken for time since the start. */
const monotonicStartMs = 4_000.5
/** Maximum number of rounds of `soon` callbacks in `settle`. */
const settleRoundsMax = 100_000

export class SimulatedClock {
  readonly #soon: 'immediate' | 'manual'
  /** Timers in the order in which they fire. */
  readonly #timers: Entry[] = []
  #soonQueue: (() => void)[] = []
  #soonPending = 0
  #monotonicMs = monotonicStartMs
  /** The wall clock at monotonic time `#wallFromMs`; since then it runs at `#wallRate`. */
  #wallMs: number
  #wallFromMs = monotonicStartMs
  #wallRate = 1

  constructor(options: SimulatedClockOptions = {}) {
    this.#soon = options.soon ?? 'immediate'
    this.#wallMs = options.startMs ?? startMsDefault
  }

  now(): number {
    return Math.floor(this.#wall())
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  setTimer(delayMs: number, callback: () => void): { cancel(): void } {
    const entry = { dueMs: this.#monotonicMs + Math.max(0, delayMs), callback }
    // After all timers with the same due time: equal timers fire in the order in which they were set.
    const behind = this.#timers.findIndex((other) => other.dueMs > entry.dueMs)
    this.#timers.splice(behind === -1 ? this.#timers.length : behind, 0, entry)
    return {
      cancel: () => {
        const at = this.#timers.indexOf(entry)
        if (at !== -1) this.#timers.splice(at, 1)
      },
    }
  }

  soon(callback: () => void): void {
    if (this.#soon === 'manual') {
      this.#soonQueue.push(callback)
      return
    }
    this.#soonPending++
    turnEventLoop(() => {
      this.#soonPending--
      callback()
    })
  }

  /** Advances the time. Resolves when all due timers have run and their consequences have settled. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`time does not run backwards: ${ms} ms`)
    await this.settle()
    const untilMs = this.#monotonicMs + ms
    while (this.#runNextTimer(untilMs)) await this.settle()
    this.#monotonicMs = untilMs
  }

  /**
   * Time passes without running timers, as in a stopped or busy process. The next `advance` runs what has
   * become due.
   */
  oversleep(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`time does not run backwards: ${ms} ms`)
    this.#monotonicMs += ms
  }

  /** Advances to the next timer and runs it. Returns false if there is none. */
  async advanceToNextTimer(): Promise<boolean> {
    await this.settle()
    const ran = this.#runNextTimer(Number.POSITIVE_INFINITY)
    if (ran) await this.settle()
    return ran
  }

  /** Runs promise continuations and `soon` callbacks until none is left. No time passes. */
  async settle(): Promise<void> {
    for (let round = 0; round < settleRoundsMax; round++) {
      // A turn of the real event loop runs all promise continuations.
      await new Promise<void>(turnEventLoop)
      const queue = this.#soonQueue
      this.#soonQueue = []
      for (const callback of queue) callback()
      if (queue.length === 0 && this.#soonPending === 0) return
    }
    throw new Error(`the code under test did not come to rest in ${settleRoundsMax} rounds`)
  }

  /** Changes the wall clock; monotonic time and timers are not affected. */
  jump(ms: number): void {
    this.#rebaseWall()
    this.#wallMs += ms
  }

  /** Sets the rate of the wall clock: 1.01 gains ten milliseconds per second. */
  drift(rate: number): void {
    if (!(rate >= 0)) throw new RangeError(`a clock may stand still but not run backwards: ${rate}`)
    this.#rebaseWall()
    this.#wallRate = rate
  }

  /** Number of timers that are set. */
  get timers(): number {
    return this.#timers.length
  }

  /** Milliseconds until the next timer is due. */
  get nextTimerMs(): number | undefined {
    const next = this.#timers[0]
    return next === undefined ? undefined : next.dueMs - this.#monotonicMs
  }

  #runNextTimer(untilMs: number): boolean {
    const next = this.#timers[0]
    if (next === undefined || next.dueMs > untilMs) return false
    this.#timers.shift()
    this.#monotonicMs = Math.max(this.#monotonicMs, next.dueMs)
    next.callback()
    return true
  }

  #wall(): number {
    return this.#wallMs + (this.#monotonicMs - this.#wallFromMs) * this.#wallRate
  }

  #rebaseWall(): void {
    this.#wallMs = this.#wall()
    this.#wallFromMs = this.#monotonicMs
  }
}

/** Uses the real event loop: afterwards, everything that can run without time passing has run. */
function turnEventLoop(callback: () => void): void {
  // biome-ignore lint/style/noRestrictedGlobals: this is the other side of the clock's seam
  setImmediate(callback)
}
