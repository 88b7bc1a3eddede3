import type { TenureError } from '@tenure/client'
import type { Clock, Timer } from '@tenure/seams'
import { WorkerError } from '../errors.js'
import type { WorkerObserver } from '../observe/observer.js'

/** A connection that breaks sooner than this has not ended the outage before it. */
const provenMs = 1000

/** Bounds the attempts to connect (004 §6.1): calls back when there has been no connection for too long. */
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

  /** `limitMs`: `Infinity` bounds nothing. */
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

  /** The worker drains, and that has bounds of its own. */
  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #end(): void {
    this.#timer?.cancel()
    this.#endedAtMs = this.#clock.monotonicMs()
  }

  /** Looks again when a timer fires, for timers have a limit of their own. */
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
