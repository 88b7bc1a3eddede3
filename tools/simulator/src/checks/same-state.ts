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

/** A value to be compared by what it says: absent, nil and undefined are one, and bytes are bytes. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const fields = Object.entries(value)
    .filter(([, field]) => field !== null && field !== undefined)
    .map(([name, field]) => [name, plain(field)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields)
}
