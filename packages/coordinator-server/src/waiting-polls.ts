/** A lease request that waits for a task. */
export interface Poll {
  readonly queues: readonly string[]
  /** The name of the worker. */
  readonly name: string
}

/** Lease requests that wait, found by the queues that they serve. */
export class WaitingPolls<P extends Poll> {
  /** Each set in the order of arrival. */
  readonly #byQueue = new Map<string, Set<P>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The queues that somebody waits for. */
  queues(): string[] {
    return [...this.#byQueue.keys()]
  }

  has(queue: string): boolean {
    return this.#byQueue.has(queue)
  }

  add(poll: P): void {
    this.#size++
    for (const queue of poll.queues) {
      const polls = this.#byQueue.get(queue)
      if (polls === undefined) this.#byQueue.set(queue, new Set([poll]))
      else polls.add(poll)
    }
  }

  /** Whether the poll did wait. */
  remove(poll: P): boolean {
    let waited = false
    for (const queue of poll.queues) {
      const polls = this.#byQueue.get(queue)
      if (polls?.delete(poll)) waited = true
      if (polls?.size === 0) this.#byQueue.delete(queue)
    }
    if (waited) this.#size--
    return waited
  }

  /**
   * Who is to be served next from the queue: of those who wait longest the one with the most free
   * capacity. It is advice, so a bounded number of them is asked.
   */
  next(queue: string, freeCapacity: (name: string) => number): P | undefined {
    let best: P | undefined
    let most = Number.NEGATIVE_INFINITY
    let asked = 0
    for (const poll of this.#byQueue.get(queue) ?? []) {
      if (asked++ === askedMax) break
      const free = freeCapacity(poll.name)
      if (free <= most) continue
      best = poll
      most = free
    }
    return best
  }

  all(): P[] {
    return [...new Set([...this.#byQueue.values()].flatMap((polls) => [...polls]))]
  }
}

const askedMax = 32
