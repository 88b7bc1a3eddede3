import type { Clock, Timer } from '@tenure/seams'
import type { WorkerError } from '../errors.js'
import type { Run } from '../isolation/isolation.js'

/** For what was terminated to be gone. */
const stuckAfterMs = 1000

/**
 * How a handler is brought to its end when it does not come to it by itself.
 *
 *     running ── tell ──▶ told ── the grace ──▶ terminated ── a second ──▶ stuck
 *        │                 │           └──── cannot be terminated ───────────┘
 *        └──── cut off ────┴── at once ──▶ terminated
 *
 * A handler that is cut off and cannot be terminated is told, and is stuck when the grace is over.
 */
export class Ending {
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

  /** Why it was told to end, if it was: the first reason, which its signal has, too. */
  get reason(): WorkerError | undefined {
    return this.#reason
  }

  /** A second time it may leave less grace, never more. */
  tell(reason: WorkerError, graceMs: number): void {
    this.#reason ??= reason
    this.#run.abort(reason)
    const dueAtMs = this.#clock.monotonicMs() + graceMs
    if (!this.#isTerminated && dueAtMs < this.#dueAtMs) this.#next(dueAtMs, () => this.#terminate())
  }

  /** Terminates it now (004 §4). Where that is not possible, all that is left is to tell it. */
  cutOff(reason: WorkerError, graceMs: number): void {
    if (this.#isTerminated) return
    this.#reason ??= reason
    this.#isTerminated = this.#run.terminate()
    if (this.#isTerminated) this.#next(this.#clock.monotonicMs() + stuckAfterMs, this.#onStuck)
    else this.tell(reason, graceMs)
  }

  /** It had its grace, and did not end within it. */
  get isGraceOver(): boolean {
    return this.#isTerminated
  }

  /** The handler is gone, or nobody waits for it any more. */
  over(): void {
    this.#isOver = true
    this.#timer?.cancel()
  }

  #terminate(): void {
    this.#isTerminated = true
    if (!this.#run.terminate()) this.#onStuck()
    else this.#next(this.#clock.monotonicMs() + stuckAfterMs, this.#onStuck)
  }

  #next(dueAtMs: number, action: () => void): void {
    // What is told to end may end at once.
    if (this.#isOver) return
    this.#timer?.cancel()
    this.#dueAtMs = dueAtMs
    const delayMs = Math.max(0, dueAtMs - this.#clock.monotonicMs())
    this.#timer = this.#clock.setTimer(delayMs, action)
  }
}
