/** How many queues are remembered. */
const queuesMax = 10_000

/**
 * When a lease request last named each queue: advice for whoever wonders why nobody takes a task. It
 * is lost by a restart, and of very many queues those that were named last are known.
 */
export class QueuesAsked {
  /** The one that was named longest ago stands first. */
  readonly #lastAt = new Map<string, number>()
  readonly #most: number

  constructor(most = queuesMax) {
    this.#most = most
  }

  note(queues: readonly string[], now: number): void {
    for (const queue of queues) {
      // Many ask in one millisecond; the order among these says nothing.
      if (this.#lastAt.get(queue) === now) continue
      this.#lastAt.delete(queue)
      this.#lastAt.set(queue, now)
      if (this.#lastAt.size > this.#most) this.#dropOldest()
    }
  }

  lastAt(queue: string): number | undefined {
    return this.#lastAt.get(queue)
  }

  #dropOldest(): void {
    for (const oldest of this.#lastAt.keys()) {
      this.#lastAt.delete(oldest)
      return
    }
  }
}
