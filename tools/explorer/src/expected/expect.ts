import type { Answer, Request } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import { lossOf, type NaiveTask, windowEndOf } from '@tenure/testing'
import { expectLease } from './lease.js'
import { answer, type DecisionContext, type Outcome, type Payloads } from './outcome.js'
import { expectSubmit } from './submit.js'
import { expectKill, expectUnderLease, terms } from './under-lease.js'

/**
 * The specification as a function: the required outcome of a request, given the tasks of the naive
 * model. It is written from the documents, and compared with the coordinator.
 */
export function expectOutcome(
  request: Request,
  name: string,
  arrivedAt: number,
  it: DecisionContext,
): Outcome {
  switch (request.kind) {
    case 'submit':
      return expectSubmit(request, it)
    case 'lease':
      return expectLease(request, name, it)
    case 'heartbeat':
    case 'complete':
    case 'fail':
      return expectUnderLease(request, name, arrivedAt, it)
    case 'kill':
      return expectKill(request, it)
    case 'withdraw':
      return answer({ kind: 'withdrawn', id: request.id })
    default:
      throw new Error(`${request.kind} is not explored`)
  }
}

/** The required answer to the request of this record, once the record is applied. */
export function expectAnswer(
  id: number,
  arrivedAt: number,
  lsn: number,
  record: LogRecord,
  tasks: readonly NaiveTask[],
  payloads: Payloads,
): Answer {
  switch (record.type) {
    case 'TaskCreated':
      return { kind: 'submitted', id, taskId: lsn, known: false }
    case 'LeaseGranted': {
      const { at, taskId, leaseId, attempt, leaseExpiry } = record
      const { executionWindowMs, queue } = taskOf(tasks, taskId)
      const lease = { taskId, leaseId, attempt, queue, payload: payloads.payloadOf(taskId) }
      return {
        kind: 'leased',
        id,
        ...lease,
        ...terms(leaseExpiry, at + executionWindowMs, at, arrivedAt),
      }
    }
    case 'LeaseExtended': {
      const { at, leaseId, newLeaseExpiry } = record
      const task = tasks.find(({ currentLeaseId }) => currentLeaseId === leaseId)!
      const windowEnd = windowEndOf(task, task.attempts.at(-1)!)
      return { kind: 'extended', id, ...terms(newLeaseExpiry, windowEnd, at, arrivedAt) }
    }
    case 'TaskCompleted':
      return { kind: 'committed', id, state: 'COMPLETED' }
    case 'TaskFailed': {
      const { state, eligibleAt } = taskOf(tasks, record.taskId)
      const committed = { kind: 'committed', id, state } as const
      return eligibleAt === undefined ? committed : { ...committed, eligibleAt }
    }
    case 'TaskCancelled': {
      const task = taskOf(tasks, record.taskId)
      const attempt = task.attempts.find(({ leaseId }) => leaseId === record.leaseId)!
      return { kind: 'cancelled', id, ...lossOf(task, attempt) }
    }
    case 'TaskDead':
      return { kind: 'killed', id, known: false }
    default:
      throw new Error(`no request leads to a ${record.type}`)
  }
}

function taskOf(tasks: readonly NaiveTask[], taskId: number): NaiveTask {
  return tasks.find((task) => task.taskId === taskId)!
}

/** Ignores messages, which are for people and not specified. */
export function isSameAnswer(one: Answer, other: Answer): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  names.delete('message')
  const [left, right] = [one, other] as unknown as Record<string, unknown>[]
  for (const name of names) if (!isSameValue(left![name], right![name])) return false
  return true
}

function isSameValue(one: unknown, other: unknown): boolean {
  if (one instanceof Uint8Array && other instanceof Uint8Array) {
    return Buffer.compare(one, other) === 0
  }
  return one === other
}
