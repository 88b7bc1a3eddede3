/** Maximum number of queues to remember. */
const queuesMax = 10_000

/**
 * The time of the last lease request for each queue, to explain why no worker takes a task. It is lost on
 * a restart, and limited to the most recently requested queues.
 */
export class RequestedQueues {
  /** Least recently requested first. */
  readonly #lastAt = new Map<string, number>()
  readonly #most: number

  constructor(most = queuesMax) {
    this.#most = most
  }

  note(queues: readonly string[], now: number): void {
    for (const queue of queues) {
      // Fast path for many requests in one millisecond; their order does not matter.
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
