import type { Knobs } from '@tenure/coordinator-server'
import { type Answer, type Reason, reasons } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import type { NaiveTask } from '@tenure/testing'

/** What a decision may look at, from the naive model's tasks on: nothing of the shipped code. */
export interface Surroundings {
  readonly knobs: Knobs
  /** What is applied. */
  readonly tasks: readonly NaiveTask[]
  readonly now: number
  readonly nextLsn: number
  /** What is on its way: nothing is decided about the same task or request_id. */
  readonly pending: readonly { readonly record: LogRecord }[]
  readonly isFull: boolean
  /** The workers that seem to have no room for a task. */
  readonly fullWorkers: readonly string[]
  readonly payloads: Payloads
}

/** With what each task was submitted. */
export interface Payloads {
  payloadOf(taskId: number): Uint8Array
}

/** What a request has to come to now. */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'record'; readonly record: LogRecord }
  /** Something it is about is on its way, or goes on its way first. */
  | { readonly kind: 'waits' }
  /** Nothing is there for it, and it may wait until something is. */
  | { readonly kind: 'polls' }

export function answer(answer: Answer): Outcome {
  return { kind: 'answer', answer }
}

export function refusal(id: number, reason: Reason): Outcome {
  return answer({ kind: 'rejected', id, reason, message: reasons[reason] })
}

/** A record, while the disk has room for it. */
export function record(record: LogRecord, id: number, { isFull }: Surroundings): Outcome {
  return isFull ? noSpace(id) : { kind: 'record', record }
}

/** Time decides first; without room for that nothing can be said. */
export function afterExpiry(id: number, { isFull }: Surroundings): Outcome {
  return isFull ? noSpace(id) : { kind: 'waits' }
}

function noSpace(id: number): Outcome {
  const { NO_SPACE: message } = reasons
  return answer({ kind: 'rejected', id, reason: 'NO_SPACE', message, retryAfterMs: 1000 })
}

/** Whether a record that is on its way is about the task. */
export function isPending({ pending, tasks }: Surroundings, taskId: number): boolean {
  return pending.some(({ record }) => {
    if (record.type !== 'LeaseExtended') return 'taskId' in record && record.taskId === taskId
    const task = tasks.find(({ currentLeaseId }) => currentLeaseId === record.leaseId)
    return task?.taskId === taskId
  })
}

export function findTask({ tasks }: Surroundings, taskId: number): NaiveTask | undefined {
  return tasks.find((task) => task.taskId === taskId)
}

/** Of LEASED tasks: whether the lease's time is over. */
export function isPastExpiry(task: NaiveTask, now: number): boolean {
  const lease = task.attempts.at(-1)
  return task.state === 'LEASED' && lease !== undefined && now >= lease.leaseExpiry
}
