import { type Endpoint, formatEndpoint } from './endpoint.js'

/**
 * Which endpoint to try next. A round tries every endpoint, in order and without a delay. A standby may name the
 * active coordinator, which is then next, but only if it is one of the endpoints: a token must not go to an
 * address that only a peer named. Each endpoint is reached this way at most once in a round, so that two
 * coordinators that name each other cause no endless loop.
 */
export class EndpointOrder {
  readonly #endpoints: readonly Endpoint[]
  #at = 0
  readonly #failed = new Set<number>()
  readonly #redirectedTo = new Set<number>()

  constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints
  }

  get current(): Endpoint {
    return this.#endpoints[this.#at]!
  }

  startRound(): void {
    this.#failed.clear()
    this.#redirectedTo.clear()
  }

  /** Moves on after a failed attempt. Returns false at the end of the round, and starts the next one. */
  next(active: string | undefined): boolean {
    this.#failed.add(this.#at)
    if (this.follow(active)) return true
    const following = this.#endpoints.map((_, index) => this.#after(index))
    const untried = following.find((index) => !this.#failed.has(index))
    this.#at = untried ?? this.#after(0)
    if (untried === undefined) this.startRound()
    return untried !== undefined
  }

  /** Makes the endpoint after this one the current one. */
  skip(): void {
    this.#at = this.#after(0)
  }

  /** Makes the address of the active coordinator the current endpoint, if that is allowed. */
  follow(active: string | undefined): boolean {
    const address = active?.toLowerCase()
    const target = this.#endpoints.findIndex((one) => formatEndpoint(one).toLowerCase() === address)
    if (target === -1 || target === this.#at || this.#redirectedTo.has(target)) return false
    this.#redirectedTo.add(target)
    this.#at = target
    return true
  }

  #after(distance: number): number {
    return (this.#at + 1 + distance) % this.#endpoints.length
  }
}
