import { noRoom } from '../decide/lease-manager.js'
import { IndexedHeap } from './indexed-heap.js'

/** A lease request that waits for a task. */
export interface Poll {
  readonly queues: readonly string[]
  /** The connection of the request, with its name. */
  readonly session: { readonly name: string }
  /** The request id on that connection. */
  readonly id: number
}

/**
 * Waiting lease requests, indexed by queue and by connection.
 *
 * Each queue has a heap of its waiting workers, and each worker has a FIFO of its polls for that queue.
 * Adding a poll, removing one, and changing a worker's rank cost O(log workers) per queue; choosing the
 * next poll costs O(1).
 */
export class WaitingPolls<P extends Poll> {
  readonly #rankOf: (name: string) => number
  readonly #byQueue = new Map<string, WaitedFor<P>>()
  readonly #byWorker = new Map<string, Waiter<P>>()
  /** Keyed by poll, not by request id, because a client may reuse an id. */
  readonly #bySession = new Map<object, Map<P, readonly Place<P>[]>>()
  #arrivals = 0
  #size = 0

  constructor(rankOf: (name: string) => number) {
    this.#rankOf = rankOf
  }

  get size(): number {
    return this.#size
  }

  /** The queues with waiting polls. */
  queues(): string[] {
    return [...this.#byQueue.keys()]
  }

  /** Number of polls that wait for the queue. */
  count(queue: string): number {
    return this.#byQueue.get(queue)?.polls ?? 0
  }

  has(queue: string): boolean {
    return this.#byQueue.has(queue)
  }

  /** The poll's queues must be distinct. */
  add(poll: P): void {
    const { session, queues } = poll
    const arrival = ++this.#arrivals
    const waiter = this.#waiter(session.name)
    const places = queues.map((queue) => this.#enter(poll, arrival, queue, waiter))
    const own = this.#bySession.get(session)
    if (own === undefined) this.#bySession.set(session, new Map([[poll, places]]))
    else own.set(poll, places)
    this.#size++
  }

  /** Returns whether the poll was waiting. */
  remove(poll: P): boolean {
    const own = this.#bySession.get(poll.session)
    const places = own?.get(poll)
    if (own === undefined || places === undefined) return false
    for (const place of places) this.#exit(place)
    own.delete(poll)
    if (own.size === 0) this.#bySession.delete(poll.session)
    this.#size--
    return true
  }

  find(session: object, id: number): P | undefined {
    return this.of(session).find((poll) => poll.id === id)
  }

  of(session: object): P[] {
    return [...(this.#bySession.get(session)?.keys() ?? [])]
  }

  all(): P[] {
    return [...this.#bySession.keys()].flatMap((session) => this.of(session))
  }

  /**
   * The poll to serve next: that of the worker with the highest rank, or the oldest among equal ranks.
   * `undefined` when no waiting worker has capacity.
   */
  next(queue: string): P | undefined {
    const line = this.#byQueue.get(queue)?.lines.first
    return line === undefined || line.rank === noRoom ? undefined : line.first.poll
  }

  /** Updates a worker's rank. Returns its queues if it has capacity again. */
  reconsider(name: string): string[] {
    const waiter = this.#byWorker.get(name)
    if (waiter === undefined) return []
    const rankBefore = waiter.rank
    const rank = this.#rankOf(name)
    if (rank === rankBefore) return []
    waiter.rank = rank
    for (const line of waiter.lines.values()) {
      line.rank = rank
      line.waitedFor.lines.update(line)
    }
    return rankBefore === noRoom ? [...waiter.lines.keys()] : []
  }

  #waiter(name: string): Waiter<P> {
    const known = this.#byWorker.get(name)
    if (known !== undefined) return known
    const waiter: Waiter<P> = { name, rank: this.#rankOf(name), lines: new Map() }
    this.#byWorker.set(name, waiter)
    return waiter
  }

  #enter(poll: P, arrival: number, queue: string, waiter: Waiter<P>): Place<P> {
    const waitedFor = this.#waitedFor(queue)
    waitedFor.polls++
    const line = waiter.lines.get(queue)
    const place = { poll, arrival, queue, waiter, before: line?.last, behind: undefined }
    if (line !== undefined) {
      line.last.behind = place
      line.last = place
      return place
    }
    const { rank } = waiter
    const opened = { waitedFor, first: place, last: place, rank, arrival, heapIndex: 0 }
    waiter.lines.set(queue, opened)
    waitedFor.lines.add(opened)
    return place
  }

  #exit({ queue, waiter, before, behind }: Place<P>): void {
    const line = waiter.lines.get(queue)!
    const { waitedFor } = line
    if (before !== undefined) {
      before.behind = behind
      if (behind === undefined) line.last = before
      else behind.before = before
    } else if (behind !== undefined) {
      behind.before = undefined
      line.first = behind
      line.arrival = behind.arrival
      waitedFor.lines.update(line)
    } else {
      waitedFor.lines.remove(line)
      waiter.lines.delete(queue)
      if (waiter.lines.size === 0) this.#byWorker.delete(waiter.name)
    }
    waitedFor.polls--
    if (waitedFor.polls === 0) this.#byQueue.delete(queue)
  }

  #waitedFor(queue: string): WaitedFor<P> {
    const known = this.#byQueue.get(queue)
    if (known !== undefined) return known
    const waitedFor = { polls: 0, lines: new IndexedHeap<Line<P>>(byRank) }
    this.#byQueue.set(queue, waitedFor)
    return waitedFor
  }
}

/** A queue with waiting polls. */
interface WaitedFor<P> {
  polls: number
  readonly lines: IndexedHeap<Line<P>>
}

/** A worker with waiting polls. */
interface Waiter<P> {
  readonly name: string
  rank: number
  readonly lines: Map<string, Line<P>>
}

/** The polls of one worker for one queue: a non-empty list linked in order of arrival. */
interface Line<P> {
  readonly waitedFor: WaitedFor<P>
  first: Place<P>
  last: Place<P>
  /** Copies of the worker's rank and the first poll's arrival, for the heap's comparisons. */
  rank: number
  arrival: number
  heapIndex: number
}

/** A poll's entry in one of its FIFOs. */
interface Place<P> {
  readonly poll: P
  readonly arrival: number
  readonly queue: string
  readonly waiter: Waiter<P>
  before: Place<P> | undefined
  behind: Place<P> | undefined
}

function byRank<P>(one: Line<P>, other: Line<P>): number {
  return one.rank === other.rank ? one.arrival - other.arrival : other.rank - one.rank
}
