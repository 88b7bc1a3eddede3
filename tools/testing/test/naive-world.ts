import { NaiveModel, type NaiveRecord, type NaiveTask } from '../src/index.js'

type RecordOf<T extends NaiveRecord['type']> = Extract<NaiveRecord, { type: T }>
export type Retries = RecordOf<'TaskCreated'>['retryPolicy']

export const windowMs = 1000
export const oneRetry: Retries = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 50 } }

/** Applies valid records to a model; each call returns the LSN of its record. */
export class World {
  readonly model = new NaiveModel()

  add(record: NaiveRecord): number {
    const lsn = this.model.lastLsn + 1
    const brokenRule = this.model.apply(lsn, record)
    if (brokenRule !== undefined) throw new Error(`${record.type} at LSN ${lsn}: ${brokenRule}`)
    return lsn
  }

  create(at: number, options: Partial<RecordOf<'TaskCreated'>> = {}): number {
    return this.add(created(this.model.lastLsn + 1, at, options))
  }

  grant(at: number, taskId: number, leaseMs = 100): number {
    const attempt = (this.model.task(taskId)?.attempt ?? 0) + 1
    return this.add(granted(this.model.lastLsn + 1, at, taskId, { attempt, leaseMs }))
  }

  extend(at: number, leaseId: number, newLeaseExpiry: number): number {
    return this.add({ type: 'LeaseExtended', at, leaseId, newLeaseExpiry })
  }

  expire(at: number, taskId: number, leaseId: number, atStart = false): number {
    return this.add({ type: 'LeaseExpired', at, taskId, leaseId, atStart })
  }

  complete(at: number, taskId: number, leaseId: number, result?: Uint8Array): number {
    const record = { type: 'TaskCompleted', at, taskId, leaseId } as const
    return this.add(result === undefined ? record : { ...record, result, reportId: 'report' })
  }

  fail(at: number, taskId: number, leaseId: number): number {
    const failureReason = `failed at ${at}`
    return this.add({ type: 'TaskFailed', at, taskId, leaseId, failureReason })
  }

  cancel(at: number, taskId: number, leaseId: number): number {
    return this.add({ type: 'TaskCancelled', at, taskId, leaseId })
  }

  kill(at: number, taskId: number): number {
    return this.add({ type: 'TaskDead', at, taskId, reason: 'stopped' })
  }

  forget(at: number, through: number): number {
    return this.add({ type: 'TasksForgotten', at, through })
  }

  task(taskId: number): NaiveTask {
    const task = this.model.task(taskId)
    if (task === undefined) throw new Error(`no task ${taskId}`)
    return task
  }
}

export function created(
  taskId: number,
  at: number,
  options: Partial<RecordOf<'TaskCreated'>> = {},
): NaiveRecord {
  const payload = new Uint8Array([1, 2, 3])
  const given = { payload, executionWindowMs: windowMs, retryPolicy: oneRetry, ...options }
  return { type: 'TaskCreated', at, taskId, ...given }
}

export function granted(
  leaseId: number,
  at: number,
  taskId: number,
  options: { attempt?: number; leaseMs?: number } = {},
): NaiveRecord {
  const { attempt = 1, leaseMs = 100 } = options
  const leaseExpiry = at + leaseMs
  return { type: 'LeaseGranted', at, taskId, leaseId, workerId: 'worker', attempt, leaseExpiry }
}

/** The complete observable state of a model. */
export function everythingOf(model: NaiveModel): unknown {
  return {
    last: [model.lastLsn, model.lastAt],
    tasks: model.tasks(),
    waiting: model.queues().map((queue) => [queue, model.waiting(queue)]),
    leased: model.leased(),
    ended: model.ended(),
    counters: model.counters(),
  }
}

/**
 * The initial state for invalid records: task 1 WAITING with a `requestId`, task 2 LEASED under 3 until 200,
 * task 4 COMPLETED under 5, task 7 WAITING after its lease 8 expired and was cancelled, task 11 not eligible
 * before 900. The next LSN is 12 and the time is 110.
 */
export function busyWorld(): World {
  const world = new World()
  world.create(100, { requestId: 'taken' })
  world.create(100)
  world.grant(100, 2)
  world.create(100)
  world.complete(100, 4, world.grant(100, 4))
  world.create(100)
  world.expire(110, 7, world.grant(100, 7, 10))
  world.cancel(110, 7, 8)
  world.create(110, { notBefore: 900 })
  return world
}
