import type { LeaseTerms } from '@tenure/protocol'

/**
 * How long a worker may act on its lease, by its own monotonic clock.
 *
 *     sent                arrived      decided                        expires
 *      │◄── on its way ──►│◄─ heldMs ─►│◄────────── leaseMs ──────────►│
 *      │◄─────────── heldMs + leaseMs, counted from here ────────►│
 *                                                            deadline
 *
 * The coordinator sends durations, never times to compare with. Counted from when the request was sent, they
 * end before the lease does: by the request's travel time, and by a margin for clocks that run at different
 * rates.
 */
export class Authority {
  readonly #drift: number
  #deadlineMs: number
  readonly #windowEndMs: number

  /** `drift`: by which share of a duration the two clocks may differ. */
  constructor(terms: LeaseTerms, sentAtMs: number, drift: number) {
    this.#drift = drift
    this.#deadlineMs = this.#withMargin(sentAtMs, terms.heldMs, terms.leaseMs)
    this.#windowEndMs = this.#withMargin(sentAtMs, terms.heldMs, terms.windowMs)
  }

  /** From this time on the worker does not own the task. */
  get deadlineMs(): number {
    return this.#deadlineMs
  }

  /** No heartbeat moves the deadline past this time. */
  get windowEndMs(): number {
    return this.#windowEndMs
  }

  /**
   * Applies the answer to a heartbeat sent at `sentAtMs`. Never shortens the deadline, since answers may
   * arrive out of order.
   */
  extend({ heldMs, leaseMs }: LeaseTerms, sentAtMs: number): void {
    this.#deadlineMs = Math.max(this.#deadlineMs, this.#withMargin(sentAtMs, heldMs, leaseMs))
  }

  #withMargin(sentAtMs: number, heldMs: number, durationMs: number): number {
    const totalMs = heldMs + durationMs
    return sentAtMs + totalMs - roundingMs - totalMs * this.#drift
  }
}

/** Both the coordinator's milliseconds are rounded: start and end. */
const roundingMs = 2
