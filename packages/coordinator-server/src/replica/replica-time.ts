import type { Clock } from '@tenure/seams'
import type { DecisionClock } from '../decide/decision-time.js'

/**
 * A clock that is behind catches up at no more than this rate. Together with the different rates of two
 * machines' clocks it must stay below a worker's `clockDrift`, 1 % by default: else a lease ends while its
 * worker still believes in it.
 */
const catchUpRate = 0.001

/**
 * `semantics` §14: the decision time of a leader goes on from the newest entry's clock, by this
 * machine's monotonic clock. So a take-over moves no lease, whatever the wall clocks show.
 */
export class ReplicaTime implements DecisionClock {
  readonly #clock: Clock
  /** The newest entry's clock, and when it was received. */
  #entryMs = 0
  #receivedMs: number
  /** How far the wall clock was ahead then. Only a leader catches up. */
  #behindMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#receivedMs = clock.monotonicMs()
  }

  /**
   * Notes an entry. One that is read while catching up counts as received at its own clock, plus the
   * time that has passed since then by the wall clock.
   */
  note(clockMs: number, isLive: boolean): void {
    this.#entryMs = isLive ? clockMs : Math.max(clockMs, this.#clock.now())
    this.#receivedMs = this.#clock.monotonicMs()
    this.#behindMs = 0
  }

  /** From now on this node decides. Its clock catches up with the wall clock, slowly. */
  lead(): void {
    const nowMs = this.now()
    this.#entryMs = nowMs
    this.#receivedMs = this.#clock.monotonicMs()
    this.#behindMs = Math.max(0, this.#clock.now() - nowMs)
  }

  now(): number {
    return this.at(this.#clock.monotonicMs())
  }

  at(monotonicMs: number): number {
    const passedMs = Math.max(0, monotonicMs - this.#receivedMs)
    const caughtUpMs = Math.min(this.#behindMs, passedMs * catchUpRate)
    return this.#entryMs + Math.floor(passedMs + caughtUpMs)
  }

  get offsetMs(): number {
    return this.now() - this.#clock.now()
  }
}
