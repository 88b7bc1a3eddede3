import type { Clock, Timer } from '@tenure/seams'
import { ByNumber } from '../by-number.js'

/**
 * Timeouts of calls. Calls with the same timeout expire in the order in which they start, so they share one
 * timer. A timer per call would cost more than the rest of a request.
 */
export class Deadlines<Call extends Timed> {
  readonly #clock: Clock
  /** The group of this timeout is kept when it is empty: it will be reused immediately. */
  readonly #usualMs: number
  readonly #onOver: (call: Call) => void
  readonly #lines = new Map<number, Line<Call>>()

  constructor(clock: Clock, usualMs: number, onOver: (call: Call) => void) {
    this.#clock = clock
    this.#usualMs = usualMs
    this.#onOver = onOver
  }

  /** `Infinity` sets no deadline. */
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

  /** Removes a call that has ended. */
  remove(call: Call, timeoutMs: number): void {
    const line = this.#lines.get(timeoutMs)
    if (line?.calls.delete(call.id) === undefined) return
    if (line.calls.size === 0 && timeoutMs !== this.#usualMs) this.#drop(line, timeoutMs)
  }

  /** Cancels all deadlines. */
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
        // A callback may have started a call, which has already set the timer.
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

/** Calls have increasing ids. */
export interface Timed {
  readonly id: number
  /** Time of the deadline. */
  dueMs: number
}

interface Line<Call> {
  readonly calls: ByNumber<Call>
  timer: Timer | undefined
}
