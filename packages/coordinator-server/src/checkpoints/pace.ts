/** What a thread rests by: whether another one hurries it, and how often it has begun to rest. */
export type PaceCell = Int32Array

export function createPaceCell(): PaceCell {
  return new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
}

/** Whoever rests by the cell wakes up, and rests no more. */
export function hurry(cell: PaceCell): void {
  Atomics.store(cell, haste, hurried)
  Atomics.notify(cell, haste)
}

/** How often somebody has begun to rest by the cell. */
export function restsOf(cell: PaceCell): number {
  return Atomics.load(cell, rests)
}

/**
 * Lets a thread work a seventh of the time, because beside one that never stops the event loop waits
 * for a processor. A low priority is no way to the same: a new thread's code is compiled and its
 * memory collected by helpers that have the priority of the process, where all processors are busy
 * the thread itself would not get on, and only root may raise a priority again to hurry it.
 */
export class Pace {
  readonly #cell: PaceCell
  readonly #now: () => number
  readonly #restMsMax: number
  #worksSinceMs: number
  #restedMs = 0

  constructor(cell: PaceCell, now: () => number, restMsMax = restMsMaxDefault) {
    this.#cell = cell
    this.#now = now
    this.#restMsMax = restMsMax
    this.#worksSinceMs = now()
  }

  /** How long all rests took together. */
  get restedMs(): number {
    return this.#restedMs
  }

  /** Blocks the thread for as long as the work since the last rest has earned. */
  rest(): void {
    const nowMs = this.#now()
    const workedMs = nowMs - this.#worksSinceMs
    if (workedMs < leastWorkMs) return
    Atomics.add(this.#cell, rests, 1)
    Atomics.wait(this.#cell, haste, calm, Math.min(workedMs * restPerWork, this.#restMsMax))
    this.#worksSinceMs = this.#now()
    this.#restedMs += this.#worksSinceMs - nowMs
  }
}

/** The places in a cell. */
const haste = 0
const rests = 1

const calm = 0
const hurried = 1

const restPerWork = 6
/** Below this a rest costs more than it spares. */
const leastWorkMs = 1
/** What the clock shows as work may be a disk that hung, or a machine that stood still. */
const restMsMaxDefault = 250
