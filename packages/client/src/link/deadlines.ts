import type { Clock, Timer } from '@tenure/seams'
import { IdMap } from '../id-map.js'

/**
 * Timeouts of calls. Calls with the same timeout expire in the order in which they start, so they share one
 * timer. A timer per call would cost more than the rest of a request.
 */
export class Deadlines<Call extends Timed> {
  readonly #clock: Clock
  /** The group of this timeout is kept when it is empty: it will be reused immediately. */
  readonly #usualMs: number
  readonly #onOver: (call: Call) => void
  readonly #groups = new Map<number, Group<Call>>()

  constructor(clock: Clock, usualMs: number, onOver: (call: Call) => void) {
    this.#clock = clock
    this.#usualMs = usualMs
    this.#onOver = onOver
  }

  /** `Infinity` sets no deadline. */
  add(call: Call, timeoutMs: number): void {
    if (timeoutMs === Number.POSITIVE_INFINITY) return
    let group = this.#groups.get(timeoutMs)
    if (group === undefined) {
      group = { calls: new IdMap(), timer: undefined }
      this.#groups.set(timeoutMs, group)
    }
    call.dueMs = this.#clock.monotonicMs() + timeoutMs
    group.calls.set(call.id, call)
    if (group.timer === undefined) this.#arm(group, timeoutMs, timeoutMs)
  }

  /** Removes a call that has ended. */
  remove(call: Call, timeoutMs: number): void {
    const group = this.#groups.get(timeoutMs)
    if (group?.calls.delete(call.id) === undefined) return
    if (group.calls.size === 0 && timeoutMs !== this.#usualMs) this.#drop(group, timeoutMs)
  }

  /** Cancels all deadlines. */
  clear(): void {
    for (const [timeoutMs, group] of this.#groups) this.#drop(group, timeoutMs)
  }

  #arm(group: Group<Call>, timeoutMs: number, delayMs: number): void {
    group.timer = this.#clock.setTimer(delayMs, () => this.#onTimer(group, timeoutMs))
  }

  #onTimer(group: Group<Call>, timeoutMs: number): void {
    group.timer = undefined
    const now = this.#clock.monotonicMs()
    for (let call = group.calls.first(); call !== undefined; call = group.calls.first()) {
      if (call.dueMs > now) {
        // A callback may have started a call, which has already set the timer.
        if (group.timer === undefined) this.#arm(group, timeoutMs, call.dueMs - now)
        return
      }
      group.calls.delete(call.id)
      this.#onOver(call)
    }
    this.#drop(group, timeoutMs)
  }

  #drop(group: Group<Call>, timeoutMs: number): void {
    group.timer?.cancel()
    if (this.#groups.get(timeoutMs) === group) this.#groups.delete(timeoutMs)
  }
}

/** Calls have increasing ids. */
export interface Timed {
  readonly id: number
  /** Time of the deadline. */
  dueMs: number
}

interface Group<Call> {
  readonly calls: IdMap<Call>
  timer: Timer | undefined
}
