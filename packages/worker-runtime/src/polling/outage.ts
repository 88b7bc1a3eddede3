import type { TenureError } from '@tenure/client'
import type { Clock, Timer } from '@tenure/seams'
import { WorkerError } from '../errors.js'
import type { WorkerObserver } from '../observe/observer.js'

/** A connection must last this long to end the outage before it. */
const provenMs = 1000

/** Limits the time without a connection (004 §6.1). Calls back when it has become too long. */
export class Outage {
  readonly observer: WorkerObserver = {
    connected: () => this.#end(),
    disconnected: (error) => {
      this.#lastError = error
      this.begin()
    },
    attemptFailed: ({ error }) => {
      this.#lastError = error
    },
  }
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #onTooLong: (error: WorkerError) => void
  #beganAtMs = 0
  #endedAtMs = Number.NEGATIVE_INFINITY
  #timer: Timer | undefined
  #isStopped = false
  #lastError: TenureError | undefined

  /** A `limitMs` of `Infinity` sets no limit. */
  constructor(clock: Clock, limitMs: number, onTooLong: (error: WorkerError) => void) {
    this.#clock = clock
    this.#limitMs = limitMs
    this.#onTooLong = onTooLong
  }

  begin(): void {
    if (this.#limitMs === Number.POSITIVE_INFINITY || this.#isStopped) return
    const now = this.#clock.monotonicMs()
    if (now - this.#endedAtMs >= provenMs) this.#beganAtMs = now
    this.#watch()
  }

  /** The worker drains, which has its own time limits. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #end(): void {
    this.#timer?.cancel()
    this.#endedAtMs = this.#clock.monotonicMs()
  }

  /** Checks again when the timer fires, because a timer's delay has a maximum. */
  #watch(): void {
    const leftMs = this.#beganAtMs + this.#limitMs - this.#clock.monotonicMs()
    if (leftMs <= 0) this.#giveUp()
    else this.#timer = this.#clock.setTimer(leftMs, () => this.#watch())
  }

  #giveUp(): void {
    const cause = this.#lastError
    const why = cause === undefined ? '' : ` (${cause.message})`
    const message = `there was no connection to a coordinator for ${this.#limitMs} ms${why}; check the coordinator, its address and the token, or raise options.giveUpAfterMs`
    this.#onTooLong(new WorkerError('WORKER_GAVE_UP', message, { cause }))
  }
}
