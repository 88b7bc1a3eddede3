import type { Request } from '@tenure/protocol'
import type { NaiveTask } from '@tenure/testing'
import type { Scope } from '../scope.js'
import { type Action, names, packAction, submissions } from './action.js'

/**
 * Everything that anybody may ask in this state, as actions.
 *
 * Peers keep nothing in mind here: whoever could have heard of a lease may use it, at any time and
 * any number of times. So a request that is sent again because its answer was lost, one that the
 * network kept back, and one from a worker that never noticed its lease's end are all among these,
 * and it does not have to be part of a state which answers were heard.
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
    const owned = (['heartbeat', 'complete', 'complete anew', 'fail'] as const).map((kind) =>
      packAction(kind, { who, task, number }),
    )
    const other = 3 - who
    // Before the task is COMPLETED its result changes nothing but the number of states.
    const again =
      outcome === 'COMPLETED' ? [packAction('complete otherwise', { who, task, number })] : []
    return [...owned, ...again, packAction('complete', { who: other, task, number })]
  })
  const ofNoLease = packAction('heartbeat', { who: 1, task, number: task })
  return [packAction('kill', { task }), ofNoLease, ...underLeases]
}

/** The request of the action, if it is one. */
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
    case 'complete anew':
      return { kind: 'complete', id, taskId, leaseId, reportId: `s${leaseId}` }
    case 'complete otherwise':
      return { kind: 'complete', id, taskId, leaseId, reportId, result: Uint8Array.of(1) }
    case 'fail':
      return { kind, id, taskId, leaseId, reportId, reason: 'no' }
    case 'kill':
      return { kind, id, taskId, reason: 'stop' }
    default:
      return undefined
  }
}
