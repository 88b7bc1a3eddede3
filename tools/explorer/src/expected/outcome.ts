import type { Knobs } from '@tenure/coordinator-server'
import { type Answer, type Reason, reasons } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import type { NaiveTask } from '@tenure/testing'

/**
 * Everything that a decision may depend on, starting with the tasks of the naive model; no shipped
 * code.
 */
export interface DecisionContext {
  readonly knobs: Knobs
  /** The applied tasks. */
  readonly tasks: readonly NaiveTask[]
  readonly now: number
  readonly nextLsn: number
  /** Records in flight: the same task or request_id may not be decided twice. */
  readonly pending: readonly { readonly record: LogRecord }[]
  readonly isFull: boolean
  /** Workers that report no free capacity. */
  readonly fullWorkers: readonly string[]
  readonly payloads: Payloads
}

/** The payloads of the submitted tasks. */
export interface Payloads {
  payloadOf(taskId: number): Uint8Array
}

/** The required outcome of a request at this moment. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'record'; readonly record: LogRecord }
  /** A record about the same thing is in flight, or has to be written first. */
  | { readonly kind: 'waits' }
  /** No task is available, and the request may wait for one. */
  | { readonly kind: 'polls' }

export function answer(answer: Answer): Outcome {
  return { kind: 'answer', answer }
}

export function refusal(id: number, reason: Reason): Outcome {
  return answer({ kind: 'rejected', id, reason, message: reasons[reason] })
}

/** A record, if the disk has space for it. */
export function record(record: LogRecord, id: number, { isFull }: DecisionContext): Outcome {
  return isFull ? noSpace(id) : { kind: 'record', record }
}

/** Expiries are decided first; without space for them the request is rejected. */
export function afterExpiry(id: number, { isFull }: DecisionContext): Outcome {
  return isFull ? noSpace(id) : { kind: 'waits' }
}

function noSpace(id: number): Outcome {
  const { NO_SPACE: message } = reasons
  return answer({ kind: 'rejected', id, reason: 'NO_SPACE', message, retryAfterMs: 1000 })
}

/** Whether a record in flight is about the task. */
export function isPending({ pending, tasks }: DecisionContext, taskId: number): boolean {
  return pending.some(({ record }) => {
    if (record.type !== 'LeaseExtended') return 'taskId' in record && record.taskId === taskId
    const task = tasks.find(({ currentLeaseId }) => currentLeaseId === record.leaseId)
    return task?.taskId === taskId
  })
}

export function findTask({ tasks }: DecisionContext, taskId: number): NaiveTask | undefined {
  return tasks.find((task) => task.taskId === taskId)
}

/** For LEASED tasks: whether the lease has expired. */
export function isPastExpiry(task: NaiveTask, now: number): boolean {
  const lease = task.attempts.at(-1)
  return task.state === 'LEASED' && lease !== undefined && now >= lease.leaseExpiry
}
