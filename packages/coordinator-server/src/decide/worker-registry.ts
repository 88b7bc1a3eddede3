import type { LogRecord, State } from '@tenure/state-machine'
import { getCurrentLeaseId } from '@tenure/state-machine/internal'
import type { Advice } from './lease-manager.js'

/** Advisory facts about a worker, by its name. */
export interface KnownWorker {
  readonly name: string
  readonly connections: number
  /** The number of concurrent tasks that the worker stated; 0 when it stated none. */
  readonly capacity: number
  /** The leases that the worker is known to hold, in the order in which they were learned. */
  readonly leaseIds: ReadonlySet<number>
  /** 0 until the first message from the worker. */
  readonly lastHeardAt: number
  /** The queues of the worker's last lease request. */
  readonly queues: readonly string[]
}

/**
 * 000 §3.2 and 001 §2.3: which workers are connected, and the number of leases of each. Its advice orders
 * waiting polls and keeps tasks from full workers; it also answers `workers`. Losing this state changes
 * no task. It is empty after a restart, and heartbeats rebuild it.
 */
export class WorkerRegistry {
  readonly #workers = new Map<string, Worker>()
  readonly #holders = new Map<number, Worker>()
  #onAdvice: (name: string) => void = () => {}

  /** Sets the callback for when advice about a worker may have changed. */
  watch(onAdvice: (name: string) => void): void {
    this.#onAdvice = onAdvice
  }

  /**
   * The first connection under a name may be a new process without the old process's leases. If it still
   * holds some, its heartbeats add them again.
   */
  connected(name: string, capacity: number, now: number): void {
    const worker = this.#worker(name)
    if (worker.connections === 0) this.#forgetLeases(worker)
    worker.connections++
    worker.capacity = capacity
    worker.lastHeardAt = now
    this.#onAdvice(name)
  }

  disconnected(name: string): void {
    const worker = this.#workers.get(name)
    if (worker === undefined) return
    worker.connections = Math.max(0, worker.connections - 1)
    this.#forgetIfIdle(worker)
    this.#onAdvice(name)
  }

  heard(name: string, now: number): void {
    const worker = this.#workers.get(name)
    if (worker !== undefined) worker.lastHeardAt = now
  }

  /** Records the queues of a worker's lease request. */
  asked(name: string, queues: readonly string[]): void {
    const worker = this.#workers.get(name)
    if (worker !== undefined) worker.queues = queues
  }

  /** Records that the worker holds the lease, because it was granted or a heartbeat named it. */
  holds(name: string, leaseId: number): void {
    if (this.#holders.has(leaseId)) return
    const worker = this.#worker(name)
    this.#holders.set(leaseId, worker)
    worker.leaseIds.add(leaseId)
    this.#onAdvice(name)
  }

  /**
   * Updates capacity when a record is decided, not when it is applied. So a report frees capacity for a lease
   * request in the same batch, and two grants in one batch count twice.
   */
  decided(record: LogRecord, state: State): void {
    switch (record.type) {
      case 'LeaseGranted':
        this.holds(record.workerId, record.leaseId)
        break
      case 'LeaseExpired':
      case 'TaskCompleted':
      case 'TaskFailed':
        this.ended(record.leaseId)
        break
      case 'TaskDead': {
        const leaseId = getCurrentLeaseId(state, record.taskId)
        if (leaseId !== undefined) this.ended(leaseId)
        break
      }
      default:
    }
  }

  /** Removes a lease that has ended, or whose end is in flight. */
  ended(leaseId: number): void {
    const worker = this.#holders.get(leaseId)
    if (worker === undefined) return
    this.#holders.delete(leaseId)
    worker.leaseIds.delete(leaseId)
    this.#forgetIfIdle(worker)
    this.#onAdvice(worker.name)
  }

  /** An unknown worker counts as one without a stated capacity and without leases. */
  advice(name: string): Advice {
    const worker = this.#workers.get(name)
    return { capacity: worker?.capacity ?? 0, leases: worker?.leaseIds.size ?? 0 }
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
    const names = [...this.#workers.keys()]
    this.#workers.clear()
    this.#holders.clear()
    for (const name of names) this.#onAdvice(name)
  }

  #worker(name: string): Worker {
    const known = this.#workers.get(name)
    if (known !== undefined) return known
    const idle = { connections: 0, capacity: 0, lastHeardAt: 0, queues: [] }
    const worker = { name, ...idle, leaseIds: new Set<number>() }
    this.#workers.set(name, worker)
    return worker
  }

  #forgetLeases({ leaseIds }: Worker): void {
    for (const leaseId of leaseIds) this.#holders.delete(leaseId)
    leaseIds.clear()
  }

  #forgetIfIdle(worker: Worker): void {
    if (worker.connections === 0 && worker.leaseIds.size === 0) this.#workers.delete(worker.name)
  }
}

interface Worker extends Mutable<Omit<KnownWorker, 'leaseIds'>> {
  readonly leaseIds: Set<number>
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] }
