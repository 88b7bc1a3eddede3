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
import { holds } from '../violation.js'
import { plain } from './plain.js'

/** Every task, every line and every count is what the naive model finds by looking at everything. */
export function checkSameState(state: State, naive: NaiveModel): void {
  const taskIds = [...listTasks(state)].map(({ taskId }) => taskId)
  same(
    'tasks',
    taskIds.map((taskId) => getTask(state, taskId)),
    naive.tasks(),
  )
  same('counters', getCounters(state), naive.counters())
  same('queues', queueNames(state), naive.queues())
  same('leased tasks', leasedTasks(state), naive.leased())
  same('ended tasks', endedTasks(state), naive.ended())
  for (const queue of naive.queues()) {
    same(`tasks that wait in ${queue}`, waitingTasks(state, queue), naive.waiting(queue))
  }
}

function same(what: string, found: unknown, expected: unknown): void {
  holds(
    isDeepStrictEqual(plain(found), plain(expected)),
    'the naive model has the same state',
    () => {
      return `${what}: ${JSON.stringify(plain(found))}, and naively ${JSON.stringify(plain(expected))}`
    },
  )
}
