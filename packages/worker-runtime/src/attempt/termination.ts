import type { Clock, Timer } from '@tenure/seams'
import type { WorkerError } from '../errors.js'
import type { Run } from '../isolation/isolation.js'

/** Time for a terminated handler to disappear. */
const stuckAfterMs = 1000

/**
 * Ends a handler that does not end by itself.
 *
 *     running ── abort ──▶ aborted ── grace ──▶ terminated ── a second ──▶ stuck
 *        │                  │            └──── cannot be terminated ─────────┘
 *        └─── terminate ────┴──▶ terminated
 *
 * A handler that cannot be terminated is aborted instead, and counts as stuck after its grace.
 */
export class Termination {
  readonly #run: Run
  readonly #clock: Clock
  readonly #onStuck: () => void
  #reason: WorkerError | undefined
  #isTerminated = false
  #isOver = false
  #dueAtMs = Number.POSITIVE_INFINITY
  #timer: Timer | undefined

  constructor(run: Run, clock: Clock, onStuck: () => void) {
    this.#run = run
    this.#clock = clock
    this.#onStuck = onStuck
  }

  /** Why the handler was first aborted or terminated. Its signal has the same reason. */
  get reason(): WorkerError | undefined {
    return this.#reason
  }

  /** A later call may shorten the grace, but never extends it. */
  abort(reason: WorkerError, graceMs: number): void {
    this.#reason ??= reason
    this.#run.abort(reason)
    const dueAtMs = this.#clock.monotonicMs() + graceMs
    if (!this.#isTerminated && dueAtMs < this.#dueAtMs) this.#next(dueAtMs, () => this.#endGrace())
  }

  /** Terminates the handler now (004 §4), or aborts it if it cannot be terminated. */
  terminate(reason: WorkerError, graceMs: number): void {
    if (this.#isTerminated) return
    this.#reason ??= reason
    this.#isTerminated = this.#run.terminate()
    if (this.#isTerminated) this.#next(this.#clock.monotonicMs() + stuckAfterMs, this.#onStuck)
    else this.abort(reason, graceMs)
  }

  /** Whether the handler did not end within its grace. */
  get isGraceOver(): boolean {
    return this.#isTerminated
  }

  /** The handler has ended, or the worker no longer waits for it. */
  finish(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }

  #endGrace(): void {
    this.#isTerminated = true
    if (!this.#run.terminate()) this.#onStuck()
    else this.#next(this.#clock.monotonicMs() + stuckAfterMs, this.#onStuck)
  }

  #next(dueAtMs: number, action: () => void): void {
    // An aborted handler may have ended synchronously.
    if (this.#isOver) return
    this.#timer?.cancel()
    this.#dueAtMs = dueAtMs
    const delayMs = Math.max(0, dueAtMs - this.#clock.monotonicMs())
    this.#timer = this.#clock.setTimer(delayMs, action)
  }
}
