import { noCapacity } from '../decide/lease-manager.js'
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
  readonly #byQueue = new Map<string, QueueEntry<P>>()
  readonly #byWorker = new Map<string, WaitingWorker<P>>()
  /** Keyed by poll, not by request id, because a client may reuse an id. */
  readonly #bySession = new Map<object, Map<P, readonly PollEntry<P>[]>>()
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
    const worker = this.#waitingWorker(session.name)
    const entries = queues.map((queue) => this.#enter(poll, arrival, queue, worker))
    const own = this.#bySession.get(session)
    if (own === undefined) this.#bySession.set(session, new Map([[poll, entries]]))
    else own.set(poll, entries)
    this.#size++
  }

  /** Returns whether the poll was waiting. */
  remove(poll: P): boolean {
    const own = this.#bySession.get(poll.session)
    const entries = own?.get(poll)
    if (own === undefined || entries === undefined) return false
    for (const entry of entries) this.#exit(entry)
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
    const fifo = this.#byQueue.get(queue)?.fifos.first
    return fifo === undefined || fifo.rank === noCapacity ? undefined : fifo.first.poll
  }

  /** Updates a worker's rank. Returns its queues if it has capacity again. */
  reconsider(name: string): string[] {
    const worker = this.#byWorker.get(name)
    if (worker === undefined) return []
    const rankBefore = worker.rank
    const rank = this.#rankOf(name)
    if (rank === rankBefore) return []
    worker.rank = rank
    for (const fifo of worker.fifos.values()) {
      fifo.rank = rank
      fifo.queueEntry.fifos.update(fifo)
    }
    return rankBefore === noCapacity ? [...worker.fifos.keys()] : []
  }

  #waitingWorker(name: string): WaitingWorker<P> {
    const known = this.#byWorker.get(name)
    if (known !== undefined) return known
    const worker: WaitingWorker<P> = { name, rank: this.#rankOf(name), fifos: new Map() }
    this.#byWorker.set(name, worker)
    return worker
  }

  #enter(poll: P, arrival: number, queue: string, worker: WaitingWorker<P>): PollEntry<P> {
    const queueEntry = this.#queueEntry(queue)
    queueEntry.polls++
    const fifo = worker.fifos.get(queue)
    const entry = { poll, arrival, queue, worker, previous: fifo?.last, next: undefined }
    if (fifo !== undefined) {
      fifo.last.next = entry
      fifo.last = entry
      return entry
    }
    const { rank } = worker
    const opened = { queueEntry, first: entry, last: entry, rank, arrival, heapIndex: 0 }
    worker.fifos.set(queue, opened)
    queueEntry.fifos.add(opened)
    return entry
  }

  #exit({ queue, worker, previous, next }: PollEntry<P>): void {
    const fifo = worker.fifos.get(queue)!
    const { queueEntry } = fifo
    if (previous !== undefined) {
      previous.next = next
      if (next === undefined) fifo.last = previous
      else next.previous = previous
    } else if (next !== undefined) {
      next.previous = undefined
      fifo.first = next
      fifo.arrival = next.arrival
      queueEntry.fifos.update(fifo)
    } else {
      queueEntry.fifos.remove(fifo)
      worker.fifos.delete(queue)
      if (worker.fifos.size === 0) this.#byWorker.delete(worker.name)
    }
    queueEntry.polls--
    if (queueEntry.polls === 0) this.#byQueue.delete(queue)
  }

  #queueEntry(queue: string): QueueEntry<P> {
    const known = this.#byQueue.get(queue)
    if (known !== undefined) return known
    const queueEntry = { polls: 0, fifos: new IndexedHeap<WorkerFifo<P>>(byRank) }
    this.#byQueue.set(queue, queueEntry)
    return queueEntry
  }
}

/** A queue with waiting polls. */
interface QueueEntry<P> {
  polls: number
  readonly fifos: IndexedHeap<WorkerFifo<P>>
}

/** A worker with waiting polls. */
interface WaitingWorker<P> {
  readonly name: string
  rank: number
  readonly fifos: Map<string, WorkerFifo<P>>
}

/** The polls of one worker for one queue: a non-empty list linked in order of arrival. */
interface WorkerFifo<P> {
  readonly queueEntry: QueueEntry<P>
  first: PollEntry<P>
  last: PollEntry<P>
  /** Copies of the worker's rank and the first poll's arrival, for the heap's comparisons. */
  rank: number
  arrival: number
  heapIndex: number
}

/** A poll's entry in one of its FIFOs. */
interface PollEntry<P> {
  readonly poll: P
  readonly arrival: number
  readonly queue: string
  readonly worker: WaitingWorker<P>
  previous: PollEntry<P> | undefined
  next: PollEntry<P> | undefined
}

function byRank<P>(one: WorkerFifo<P>, other: WorkerFifo<P>): number {
  return one.rank === other.rank ? one.arrival - other.arrival : other.rank - one.rank
}
