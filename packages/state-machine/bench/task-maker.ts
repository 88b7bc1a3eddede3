import type { LogRecord, TaskCreated } from '../src/index.js'
import { Random } from './random.js'

export type Sink = (record: LogRecord) => void

const workers = Array.from({ length: 300 }, (_, number) => `worker-${1000 + number}`)

const queues = ['default', 'mail', 'images', 'reports']
const payloadBytes = 100

/** Writes records in LSN order, with the parts that every stream needs. */
export class TaskMaker {
  readonly random = new Random(20_240_229)
  /** LSN of the last record. */
  lsn = 0
  at = 1_700_000_000_000
  sink: Sink
  /** Share of tasks with a request_id. */
  readonly #idShare: number
  readonly #queues: readonly string[]
  // Only the length of the payloads matters.
  readonly #payloads = Array.from({ length: 64 }, () => this.random.bytes(payloadBytes))

  constructor(idShare: number, sink: Sink, queueCount = queues.length) {
    this.#idShare = idShare
    this.sink = sink
    this.#queues = queues.slice(0, queueCount)
  }

  /** Writes the record and returns its LSN. */
  write(record: LogRecord): number {
    this.lsn++
    this.sink(record)
    return this.lsn
  }

  create(retryPolicy: TaskCreated['retryPolicy'] = onceAgain): number {
    const { random, at } = this
    const queue = random.pick(this.#queues)
    const place = queue === 'default' ? {} : { queue }
    const name = random.chance(this.#idShare) ? { requestId: random.requestId() } : {}
    return this.write({
      type: 'TaskCreated',
      at,
      taskId: this.lsn + 1,
      payload: random.pick(this.#payloads),
      executionWindowMs,
      retryPolicy,
      ...place,
      ...name,
    })
  }

  grant(taskId: number, attempt: number, leaseMs: number): number {
    return this.write({
      type: 'LeaseGranted',
      at: this.at,
      taskId,
      leaseId: this.lsn + 1,
      workerId: this.random.pick(workers),
      attempt,
      leaseExpiry: this.at + leaseMs,
    })
  }

  extend(leaseId: number, leaseMs: number): void {
    this.write({ type: 'LeaseExtended', at: this.at, leaseId, newLeaseExpiry: this.at + leaseMs })
  }

  complete(taskId: number, leaseId: number, result?: Uint8Array): void {
    const { at } = this
    const given = result === undefined ? {} : { result }
    this.write({ type: 'TaskCompleted', at, taskId, leaseId, ...given })
  }

  forget(through: number): void {
    this.write({ type: 'TasksForgotten', at: this.at, through })
  }
}

const onceAgain = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 500 } } as const
const executionWindowMs = 10_000_000_000
