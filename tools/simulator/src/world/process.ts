import type { Clock } from '@tenure/seams'
import type { SimulatedClock } from '@tenure/testing'
import { Violation } from '../violation.js'

/**
 * A process of the simulated world. Whatever comes to it from outside, time and bytes, comes through
 * `run`: at once while it runs, later while it stands still, never when it has ended.
 */
export class Process {
  readonly clock: Clock
  #mode: 'running' | 'paused' | 'over' = 'running'
  #waiting: (() => void)[] = []

  /** `rate`: how fast its clocks run, both of them. */
  constructor(clock: SimulatedClock, rate = 1) {
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

  /** False when it does not run. */
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

/** Less than any clock shows, so that a timer never fires before its time by a rounding. */
const timerSlackMs = 1e-6

function processClock(
  clock: SimulatedClock,
  rate: number,
  run: (callback: () => void) => void,
): Clock {
  // From the same start for every process of a machine: its clocks do not jump where one ends.
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

/** Lets time pass until the work is done; work that waits for nothing at all is never done. */
export async function drive<T>(clock: SimulatedClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const noted = work.finally(() => {
    isDone = true
  })
  noted.catch(() => {})
  await clock.settle()
  while (!isDone) {
    if (await clock.advanceToNextTimer()) continue
    throw new Violation('what is begun comes to an end', 'it waits, and for nothing')
  }
  return noted
}
