import type { LogRecord, State } from '@tenure/state-machine'
import { getCurrentLeaseId } from '@tenure/state-machine/internal'
import type { Advice } from './lease-manager.js'

/** What is known of a worker by its name: advice, nothing more. */
export interface KnownWorker {
  readonly name: string
  readonly connections: number
  /** How many tasks it runs at once, by its own word; 0 when it does not say. */
  readonly capacity: number
  /** Those it is known to hold, in the order in which that became known. */
  readonly leaseIds: ReadonlySet<number>
  /** 0 when it has not been heard since it is known. */
  readonly lastHeardAt: number
  /** Those of its last lease request. */
  readonly queues: readonly string[]
}

/**
 * 000 §3.2 and 001 §2.3: which workers are connected, and how many leases each holds. Its advice
 * orders the waiting polls and keeps tasks from full workers; it also answers `workers`. It may forget
 * everything at any time: that changes no task. A restart begins with an empty one, and heartbeats
 * fill it again.
 */
export class WorkerRegistry {
  readonly #workers = new Map<string, Worker>()
  readonly #holders = new Map<number, Worker>()
  #onAdvice: (name: string) => void = () => {}

  /** Calls back whenever the advice about a worker may have changed. */
  watch(onAdvice: (name: string) => void): void {
    this.#onAdvice = onAdvice
  }

  /**
   * A name that had no connection may be a new process, which holds no lease of the one before it. If
   * it does hold some, its heartbeats say so.
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
    this.#onAdvice(name)
  }

  /**
   * The record is on its way. Capacity counts what is decided, not what is applied: a report makes room
   * for a lease request in the same batch, and two grants in one batch count as two.
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

  /** The lease has ended, or a record that ends it is on its way. */
  ended(leaseId: number): void {
    const worker = this.#holders.get(leaseId)
    if (worker === undefined) return
    this.#holders.delete(leaseId)
    worker.leaseIds.delete(leaseId)
    this.#forgetIfIdle(worker)
    this.#onAdvice(worker.name)
  }

  /** An unknown worker has stated no capacity and holds nothing. */
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
