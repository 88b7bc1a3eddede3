import type { Clock, Timer } from '@tenure/seams'
import { ByNumber } from '../by-number.js'

/**
 * When the time of each of many calls is over. Those that may take equally long end in the order in
 * which they began, so one timer does for all of them. A timer for each would cost more than all else
 * that is done here for a request.
 */
export class Deadlines<Call extends Timed> {
  readonly #clock: Clock
  /** The line of these is kept when it is empty: the next call is soon to come. */
  readonly #usualMs: number
  readonly #onOver: (call: Call) => void
  readonly #lines = new Map<number, Line<Call>>()

  constructor(clock: Clock, usualMs: number, onOver: (call: Call) => void) {
    this.#clock = clock
    this.#usualMs = usualMs
    this.#onOver = onOver
  }

  /** `Infinity` is no deadline. */
  add(call: Call, timeoutMs: number): void {
    if (timeoutMs === Number.POSITIVE_INFINITY) return
    let line = this.#lines.get(timeoutMs)
    if (line === undefined) {
      line = { calls: new ByNumber(), timer: undefined }
      this.#lines.set(timeoutMs, line)
    }
    call.dueMs = this.#clock.monotonicMs() + timeoutMs
    line.calls.set(call.id, call)
    if (line.timer === undefined) this.#arm(line, timeoutMs, timeoutMs)
  }

  /** The call has ended by itself. */
  remove(call: Call, timeoutMs: number): void {
    const line = this.#lines.get(timeoutMs)
    if (line?.calls.delete(call.id) === undefined) return
    if (line.calls.size === 0 && timeoutMs !== this.#usualMs) this.#drop(line, timeoutMs)
  }

  /** Nobody is called back any more. */
  clear(): void {
    for (const [timeoutMs, line] of this.#lines) this.#drop(line, timeoutMs)
  }

  #arm(line: Line<Call>, timeoutMs: number, delayMs: number): void {
    line.timer = this.#clock.setTimer(delayMs, () => this.#onTimer(line, timeoutMs))
  }

  #onTimer(line: Line<Call>, timeoutMs: number): void {
    line.timer = undefined
    const now = this.#clock.monotonicMs()
    for (let call = line.calls.first(); call !== undefined; call = line.calls.first()) {
      if (call.dueMs > now) {
        // Whoever was called back may have begun a call, which has set the timer already.
        if (line.timer === undefined) this.#arm(line, timeoutMs, call.dueMs - now)
        return
      }
      line.calls.delete(call.id)
      this.#onOver(call)
    }
    this.#drop(line, timeoutMs)
  }

  #drop(line: Line<Call>, timeoutMs: number): void {
    line.timer?.cancel()
    if (this.#lines.get(timeoutMs) === line) this.#lines.delete(timeoutMs)
  }
}

/** Numbered in the order in which they begin. */
export interface Timed {
  readonly id: number
  /** When its time is over. */
  dueMs: number
}

interface Line<Call> {
  readonly calls: ByNumber<Call>
  timer: Timer | undefined
}
