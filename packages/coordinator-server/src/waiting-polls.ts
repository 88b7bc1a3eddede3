/** A lease request that waits for a task. */
export interface Poll {
  readonly queues: readonly string[]
  /** The connection that it came on, by the name it has. */
  readonly session: { readonly name: string }
  /** The request's number on that connection. */
  readonly id: number
}

/** Lease requests that wait, found by the queues that they serve and by the connection they came on. */
export class WaitingPolls<P extends Poll> {
  /** Each set in the order of arrival. */
  readonly #byQueue = new Map<string, Set<P>>()
  /** Not by their numbers: whoever asks twice under the same one waits twice. */
  readonly #bySession = new Map<object, Set<P>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The queues that somebody waits for. */
  queues(): string[] {
    return [...this.#byQueue.keys()]
  }

  /** How many wait for a task of the queue. */
  count(queue: string): number {
    return this.#byQueue.get(queue)?.size ?? 0
  }

  has(queue: string): boolean {
    return this.#byQueue.has(queue)
  }

  add(poll: P): void {
    this.#size++
    const own = this.#bySession.get(poll.session)
    if (own === undefined) this.#bySession.set(poll.session, new Set([poll]))
    else own.add(poll)
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
    if (!waited) return false
    this.#size--
    const own = this.#bySession.get(poll.session)
    own?.delete(poll)
    if (own?.size === 0) this.#bySession.delete(poll.session)
    return true
  }

  find(session: object, id: number): P | undefined {
    return this.of(session).find((poll) => poll.id === id)
  }

  of(session: object): P[] {
    return [...(this.#bySession.get(session) ?? [])]
  }

  all(): P[] {
    return [...this.#bySession.keys()].flatMap((session) => this.of(session))
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
      const free = freeCapacity(poll.session.name)
      if (free <= most) continue
      best = poll
      most = free
    }
    return best
  }
}

const askedMax = 32
