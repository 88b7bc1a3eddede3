/**
 * Time that passes only when a test says so.
 *
 * Code under test reads the clock and sets timers as ever; `advance` runs what falls due, one timer
 * at a time, and lets everything that a timer set in motion come to rest before the next one. The
 * wall clock can step and drift apart from the monotonic one, as it does on real machines.
 */
export interface SimulatedClockOptions {
  /** What the wall clock shows at the start. */
  readonly startMs?: number
  /**
   * Where `soon` callbacks run: `immediate` (the default) in a real `setImmediate`, so that code
   * makes progress without anyone driving the clock; `manual` only inside `settle` and `advance`.
   */
  readonly soon?: 'immediate' | 'manual'
}

interface Entry {
  readonly dueMs: number
  readonly callback: () => void
}

const startMsDefault = Date.UTC(2026, 0, 1)
/** Not zero, so that nobody mistakes monotonic time for time since the start. */
const monotonicStartMs = 4_000.5
/** Rounds of `soon` callbacks without rest after which `settle` gives up. */
const settleRoundsMax = 100_000

export class SimulatedClock {
  readonly #soon: 'immediate' | 'manual'
  /** In the order in which they fire. */
  readonly #timers: Entry[] = []
  #soonQueue: (() => void)[] = []
  #soonPending = 0
  #monotonicMs = monotonicStartMs
  /** The wall clock at `#wallFromMs` of monotonic time, and how fast it runs from there. */
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
    // Behind all that fall due at the same time: equal timers fire in the order they were set.
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

  /** Lets the time pass; resolves when all that fell due has run and come to rest. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`time does not run backwards: ${ms} ms`)
    await this.settle()
    const untilMs = this.#monotonicMs + ms
    while (this.#runNextTimer(untilMs)) await this.settle()
    this.#monotonicMs = untilMs
  }

  /**
   * Time passes and no timer runs, as in a process that was stopped, or is busy: what has fallen due
   * runs with the next `advance`.
   */
  oversleep(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`time does not run backwards: ${ms} ms`)
    this.#monotonicMs += ms
  }

  /** Goes to the next timer and runs it; false when there is none. */
  async advanceToNextTimer(): Promise<boolean> {
    await this.settle()
    const ran = this.#runNextTimer(Number.POSITIVE_INFINITY)
    if (ran) await this.settle()
    return ran
  }

  /** Runs promise continuations and `soon` callbacks until none is left. No time passes. */
  async settle(): Promise<void> {
    for (let round = 0; round < settleRoundsMax; round++) {
      // A turn of the real event loop empties the queue of promise continuations.
      await new Promise<void>(turnEventLoop)
      const queue = this.#soonQueue
      this.#soonQueue = []
      for (const callback of queue) callback()
      if (queue.length === 0 && this.#soonPending === 0) return
    }
    throw new Error(`the code under test did not come to rest in ${settleRoundsMax} rounds`)
  }

  /** Steps the wall clock; monotonic time and timers do not notice. */
  jump(ms: number): void {
    this.#rebaseWall()
    this.#wallMs += ms
  }

  /** From here on the wall clock runs at this rate: 1.01 gains ten milliseconds in a second. */
  drift(rate: number): void {
    if (!(rate >= 0)) throw new RangeError(`a clock may stand still but not run backwards: ${rate}`)
    this.#rebaseWall()
    this.#wallRate = rate
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.length
  }

  /** Milliseconds until the next timer falls due. */
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

/** The one thing that is not simulated: everything that can run without time passing has run. */
function turnEventLoop(callback: () => void): void {
  // biome-ignore lint/style/noRestrictedGlobals: this is the other side of the clock's seam
  setImmediate(callback)
}
