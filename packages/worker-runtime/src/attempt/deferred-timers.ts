import type { Clock, Timer } from '@tenure/seams'

/** An execution that may need a timer. */
export interface Armable {
  /** When its next action is due. */
  readonly dueAtMs: number
  /** Sets its timer unless it is set already, and does what is due now. */
  arm(): void
}

/** An execution gets a timer if it lasts longer than this. */
const deferMs = 250

/**
 * Most tasks end long before any action is due, and setting and cancelling a timer takes longer than running
 * them. So executions get timers only once they have lasted for a while.
 */
export class DeferredTimers {
  readonly #clock: Clock
  readonly #all: readonly Armable[]
  #timer: Timer | undefined

  constructor(clock: Clock, all: readonly Armable[]) {
    this.#clock = clock
    this.#all = all
  }

  /** Registers a new execution. */
  begun(one: Armable): void {
    if (one.dueAtMs - this.#clock.monotonicMs() <= deferMs) one.arm()
    else this.#timer ??= this.#clock.setTimer(deferMs, () => this.#armAll())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #armAll(): void {
    this.#timer = undefined
    // A copy, because an execution may end here.
    for (const one of [...this.#all]) one.arm()
  }
}
