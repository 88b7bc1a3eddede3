import type { LeaseTerms } from '@tenure/protocol'

/**
 * Until when a worker may act on its lease, by its own monotonic clock.
 *
 *     sent                arrived      decided                        expires
 *      │◄── on its way ──►│◄─ heldMs ─►│◄────────── leaseMs ──────────►│
 *      │◄─────────── heldMs + leaseMs, counted from here ────────►│
 *                                                            deadline
 *
 * The coordinator gives durations, never a time to compare with. Counted from when the request was
 * sent they end before the lease does, by the time that the request was on its way; and by a margin,
 * because two clocks do not run alike.
 */
export class Authority {
  readonly #drift: number
  #deadlineMs: number
  readonly #windowEndMs: number

  /** `drift`: by which part of a duration the two clocks may come apart. */
  constructor(terms: LeaseTerms, sentAtMs: number, drift: number) {
    this.#drift = drift
    this.#deadlineMs = this.#less(sentAtMs, terms.heldMs, terms.leaseMs)
    this.#windowEndMs = this.#less(sentAtMs, terms.heldMs, terms.windowMs)
  }

  /** From then on the worker does not own the task, whatever it can or cannot reach. */
  get deadlineMs(): number {
    return this.#deadlineMs
  }

  /** No heartbeat moves the deadline past this. */
  get windowEndMs(): number {
    return this.#windowEndMs
  }

  /** A heartbeat sent at `sentAtMs` was answered. An answer that overtook a later one shortens nothing. */
  extend({ heldMs, leaseMs }: LeaseTerms, sentAtMs: number): void {
    this.#deadlineMs = Math.max(this.#deadlineMs, this.#less(sentAtMs, heldMs, leaseMs))
  }

  #less(sentAtMs: number, heldMs: number, durationMs: number): number {
    const totalMs = heldMs + durationMs
    return sentAtMs + totalMs - roundingMs - totalMs * this.#drift
  }
}

/** The coordinator's milliseconds are whole, at both ends. */
const roundingMs = 2
