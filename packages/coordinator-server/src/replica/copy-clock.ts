import type { Clock, Timer } from '@tenure/seams'

/** The clock of a copy: its time is that of the newest entry, so that every copy of an entry has it. */
export class CopyClock implements Clock {
  readonly #machine: Clock
  #entryMs = 0

  constructor(machine: Clock) {
    this.#machine = machine
  }

  note(clockMs: number): void {
    this.#entryMs = clockMs
  }

  now(): number {
    return this.#entryMs
  }

  monotonicMs(): number {
    return this.#machine.monotonicMs()
  }

  setTimer(delayMs: number, callback: () => void, ground?: 'background'): Timer {
    return this.#machine.setTimer(delayMs, callback, ground)
  }

  soon(callback: () => void): void {
    this.#machine.soon(callback)
  }
}
