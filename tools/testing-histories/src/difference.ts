import { isDeepStrictEqual } from 'node:util'
import {
  endedTasks,
  getCounters,
  getTask,
  leasedTasks,
  listTasks,
  queueNames,
  type State,
  waitingTasks,
} from '@tenure/state-machine'
import type { NaiveModel } from '@tenure/testing'

/**
 * Describes the first difference between a state and the naive model, which computes everything by scanning.
 */
export function findDifference(state: State, naive: NaiveModel): string | undefined {
  const queues = naive.queues()
  const shown = {
    tasks: Array.from(listTasks(state), ({ taskId }) => getTask(state, taskId)),
    counters: getCounters(state),
    queues: queueNames(state),
    leased: leasedTasks(state),
    ended: endedTasks(state),
    waiting: queues.map((queue) => waitingTasks(state, queue)),
  }
  const expected: typeof shown = {
    tasks: naive.tasks(),
    counters: naive.counters(),
    queues,
    leased: naive.leased(),
    ended: naive.ended(),
    waiting: queues.map((queue) => naive.waiting(queue)),
  }
  for (const what of Object.keys(shown) as (keyof typeof shown)[]) {
    if (isDeepStrictEqual(shown[what], expected[what])) continue
    return `${what}: ${JSON.stringify(shown[what])}, but the naive model has ${JSON.stringify(expected[what])}`
  }
  return undefined
}
