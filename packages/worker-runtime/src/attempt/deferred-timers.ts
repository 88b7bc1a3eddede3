import type { Clock, Timer } from '@tenure/seams'

/** Something that needs a timer. */
export interface Armable {
  /** When something has to be done about it. */
  readonly dueAtMs: number
  /** Sets its timer, unless it is set, and does at once what is due. */
  arm(): void
}

/** Whoever is still there so long after somebody has begun gets a timer. */
const lateMs = 250

/**
 * Most tasks end long before anything is due, and to set a timer and to cancel it takes longer than to run
 * them. So timers are set for those only that have not ended when one of them has been there for a while.
 */
export class LateTimers {
  readonly #clock: Clock
  readonly #all: readonly Armable[]
  #timer: Timer | undefined

  constructor(clock: Clock, all: readonly Armable[]) {
    this.#clock = clock
    this.#all = all
  }

  /** One of them has begun. */
  begun(one: Armable): void {
    if (one.dueAtMs - this.#clock.monotonicMs() <= lateMs) one.arm()
    else this.#timer ??= this.#clock.setTimer(lateMs, () => this.#armAll())
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #armAll(): void {
    this.#timer = undefined
    // A copy: one may end here.
    for (const one of [...this.#all]) one.arm()
  }
}
