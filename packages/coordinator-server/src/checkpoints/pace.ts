/** What a thread rests by, and another one hurries it by. */
export type PaceCell = Int32Array

export function createPaceCell(): PaceCell {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}

/** Whoever rests by the cell wakes up, and rests no more. */
export function hurry(cell: PaceCell): void {
  Atomics.store(cell, 0, hurried)
  Atomics.notify(cell, 0)
}

/**
 * Lets a thread work a fifth of the time, because beside one that never stops the event loop waits
 * for a processor. A low priority is no way to the same: a new thread's code is compiled and its
 * memory collected by helpers that have the priority of the process, where all processors are busy
 * the thread itself would not get on, and only root may raise a priority again to hurry it.
 */
export class Pace {
  readonly #cell: PaceCell
  readonly #now: () => number
  #restedMs: number

  constructor(cell: PaceCell, now: () => number) {
    this.#cell = cell
    this.#now = now
    this.#restedMs = now()
  }

  /** Blocks the thread for as long as the work since the last rest has earned. */
  rest(): void {
    const workedMs = this.#now() - this.#restedMs
    if (workedMs < leastWorkMs) return
    Atomics.wait(this.#cell, 0, calm, workedMs * restPerWork)
    this.#restedMs = this.#now()
  }
}

const calm = 0
const hurried = 1
const restPerWork = 4
/** Below this a rest costs more than it spares. */
const leastWorkMs = 1
