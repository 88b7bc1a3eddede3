import type { Clock } from '@tenure/seams'
import type { SimulatedClock } from '@tenure/testing'
import { Violation } from '../violation.js'

/** The clock of the machine on which a process runs. */
export type MachineClock = Pick<SimulatedClock, 'now' | 'monotonicMs' | 'setTimer' | 'soon'>

/**
 * A process of the simulated world. All input, time and bytes, goes through `run`: it happens
 * immediately while the process runs, later while it is stopped, and never after its end.
 */
export class Process {
  readonly clock: Clock
  #mode: 'running' | 'paused' | 'over' = 'running'
  #waiting: (() => void)[] = []

  /** `rate`: the rate of both of its clocks. */
  constructor(clock: MachineClock, rate = 1) {
    this.clock = processClock(clock, rate, (callback) => this.run(callback))
  }

  get isOver(): boolean {
    return this.#mode === 'over'
  }

  get isPaused(): boolean {
    return this.#mode === 'paused'
  }

  run(callback: () => void): void {
    if (this.#mode === 'running') callback()
    else if (this.#mode === 'paused') this.#waiting.push(callback)
  }

  /** Returns false if it is not running. */
  pause(): boolean {
    if (this.#mode !== 'running') return false
    this.#mode = 'paused'
    return true
  }

  resume(): void {
    if (this.#mode !== 'paused') return
    this.#mode = 'running'
    const waiting = this.#waiting
    this.#waiting = []
    for (const callback of waiting) this.run(callback)
  }

  end(): void {
    this.#mode = 'over'
    this.#waiting = []
  }
}

/** Less than the resolution of any clock, so that rounding never fires a timer early. */
const timerSlackMs = 1e-6

function processClock(
  clock: MachineClock,
  rate: number,
  run: (callback: () => void) => void,
): Clock {
  // All processes of a machine count from the same start, so that its clocks do not jump when one
  // ends.
  const gainedMs = () => clock.monotonicMs() * (rate - 1)
  return {
    now: () => Math.floor(clock.now() + gainedMs()),
    monotonicMs: () => clock.monotonicMs() + gainedMs(),
    setTimer(delayMs, callback) {
      let isCancelled = false
      const fire = () => {
        if (!isCancelled) callback()
      }
      const timer = clock.setTimer(Math.max(0, delayMs) / rate + timerSlackMs, () => run(fire))
      return {
        cancel() {
          isCancelled = true
          timer.cancel()
        },
      }
    },
    soon: (callback) => clock.soon(() => run(callback)),
  }
}

/** Lets time pass until the work is done; fails if no event could complete it. */
export async function drive<T>(clock: SimulatedClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const noted = work.finally(() => {
    isDone = true
  })
  noted.catch(() => {})
  await clock.settle()
  while (!isDone) {
    if (await clock.advanceToNextTimer()) continue
    throw new Violation('no operation hangs', 'it waits, but no event is scheduled')
  }
  return noted
}
