/** What is known of a worker by its name: advice, nothing more. */
export interface KnownWorker {
  readonly name: string
  readonly connections: number
  /** How many tasks it runs at once, by its own word. */
  readonly capacity: number
  /** Those it is known to hold, in the order in which that became known. */
  readonly leaseIds: ReadonlySet<number>
  /** 0 when it has not been heard since it is known. */
  readonly lastHeardAt: number
  /** Those of its last lease request. */
  readonly queues: readonly string[]
}

/**
 * 000 §3.2 and 001 §2.3: who is there, and who has room. It orders those who wait for a task and
 * answers `workers`; whatever it says, or forgets, no outcome of a decision changes. A restart
 * begins with an empty one, and heartbeats fill it again.
 */
export class WorkerRegistry {
  readonly #workers = new Map<string, Worker>()
  readonly #holders = new Map<number, Worker>()

  connected(name: string, capacity: number, now: number): void {
    const worker = this.#worker(name)
    worker.connections++
    worker.capacity = capacity
    worker.lastHeardAt = now
  }

  disconnected(name: string): void {
    const worker = this.#workers.get(name)
    if (worker === undefined) return
    worker.connections = Math.max(0, worker.connections - 1)
    this.#forgetIfIdle(worker)
  }

  heard(name: string, now: number): void {
    const worker = this.#workers.get(name)
    if (worker !== undefined) worker.lastHeardAt = now
  }

  /** The worker has asked for a task of these queues. */
  asked(name: string, queues: readonly string[]): void {
    const worker = this.#workers.get(name)
    if (worker !== undefined) worker.queues = queues
  }

  /** The worker holds the lease: it was granted, or a heartbeat says so. */
  holds(name: string, leaseId: number): void {
    if (this.#holders.has(leaseId)) return
    const worker = this.#worker(name)
    this.#holders.set(leaseId, worker)
    worker.leaseIds.add(leaseId)
  }

  /** The lease has ended. */
  ended(leaseId: number): void {
    const worker = this.#holders.get(leaseId)
    if (worker === undefined) return
    this.#holders.delete(leaseId)
    worker.leaseIds.delete(leaseId)
    this.#forgetIfIdle(worker)
  }

  /** How many more tasks the worker could run. */
  freeCapacity(name: string): number {
    const worker = this.#workers.get(name)
    return worker === undefined ? 0 : worker.capacity - worker.leaseIds.size
  }

  get size(): number {
    return this.#workers.size
  }

  get(name: string): KnownWorker | undefined {
    return this.#workers.get(name)
  }

  list(): Iterable<KnownWorker> {
    return this.#workers.values()
  }

  /** Forgets everything, as a restart does. */
  clear(): void {
    this.#workers.clear()
    this.#holders.clear()
  }

  #worker(name: string): Worker {
    const known = this.#workers.get(name)
    if (known !== undefined) return known
    const idle = { connections: 0, capacity: 0, lastHeardAt: 0, queues: [] }
    const worker = { name, ...idle, leaseIds: new Set<number>() }
    this.#workers.set(name, worker)
    return worker
  }

  #forgetIfIdle(worker: Worker): void {
    if (worker.connections === 0 && worker.leaseIds.size === 0) this.#workers.delete(worker.name)
  }
}

interface Worker extends Mutable<Omit<KnownWorker, 'leaseIds'>> {
  readonly leaseIds: Set<number>
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] }
