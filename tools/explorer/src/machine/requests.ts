import type { Request } from '@tenure/protocol'
import type { NaiveTask } from '@tenure/testing'
import type { Scope } from '../scope.js'
import { type Action, names, packAction, submissions } from './action.js'

/**
 * All requests that are possible in this state, as actions.
 * Peers have no memory here: a worker that could have heard of a lease may use it at any time and
 * any number of times. This includes a request that is repeated because its answer was lost, one
 * that the network delayed, and one from a worker that never noticed the end of its lease. So a
 * state does not have to contain the answers that peers received.
 */
export function possibleRequests(
  tasks: readonly NaiveTask[],
  submitted: readonly number[],
  mayPoll: boolean,
): number[] {
  const workers = [1, 2]
  return [
    ...submitted.map((number) => packAction('submit', { number })),
    ...workers.map((who) => packAction('lease', { who })),
    ...(mayPoll ? workers.map((who) => packAction('poll', { who })) : []),
    ...tasks.flatMap(requestsAbout),
    packAction('complete', { who: 1, task: unknownTask, number: unknownTask }),
  ]
}

const unknownTask = 255

function requestsAbout({ taskId: task, attempts }: NaiveTask): number[] {
  const underLeases = attempts.flatMap(({ leaseId: number, workerId, outcome }) => {
    const who = names.indexOf(workerId as (typeof names)[number])
    const owned = (['heartbeat', 'complete', 'complete with another report', 'fail'] as const).map(
      (kind) => packAction(kind, { who, task, number }),
    )
    const other = 3 - who
    // Before the task is COMPLETED, its result only multiplies the number of states.
    const again =
      outcome === 'COMPLETED' ? [packAction('complete with a result', { who, task, number })] : []
    return [...owned, ...again, packAction('complete', { who: other, task, number })]
  })
  const ofNoLease = packAction('heartbeat', { who: 1, task, number: task })
  return [packAction('kill', { task }), ofNoLease, ...underLeases]
}

/** The request of an action, if it is one. */
export function toRequest(action: Action, id: number, { pollMs }: Scope): Request | undefined {
  const { kind, task: taskId, number: leaseId } = action
  const reportId = `r${leaseId}`
  switch (kind) {
    case 'submit':
      return { kind, id, ...submissions[action.number]! }
    case 'lease':
      return { kind, id, queues: ['default'], waitMs: 0 }
    case 'poll':
      return { kind: 'lease', id, queues: ['default'], waitMs: pollMs }
    case 'heartbeat':
      return { kind, id, taskId, leaseId }
    case 'complete':
      return { kind, id, taskId, leaseId, reportId }
    case 'complete with another report':
      return { kind: 'complete', id, taskId, leaseId, reportId: `s${leaseId}` }
    case 'complete with a result':
      return { kind: 'complete', id, taskId, leaseId, reportId, result: Uint8Array.of(1) }
    case 'fail':
      return { kind, id, taskId, leaseId, reportId, reason: 'no' }
    case 'kill':
      return { kind, id, taskId, reason: 'stop' }
    default:
      return undefined
  }
}
