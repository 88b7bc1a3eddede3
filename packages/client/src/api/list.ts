import { messageLimits, type NewRequest, type TasksFound, taskStates } from '@tenure/protocol'
import { check } from '../errors.js'
import { type CallOptions, checkCallOptions } from '../link/limit.js'
import type { Link } from '../link/link.js'
import { demand } from './demand.js'
import { readSummary, type TaskState, type TaskSummary } from './facts.js'
import { type TaskId, toTaskId } from './task-id.js'

export interface ListOptions extends CallOptions {
  readonly state?: TaskState | undefined
  readonly queue?: string | undefined
  /** The lowest task id to list. Default 1. */
  readonly fromTaskId?: TaskId | undefined
  /** Maximum number of tasks. Default: all. */
  readonly limit?: number | undefined
  /** Number of tasks per request, up to 1000. Default 100. */
  readonly pageSize?: number | undefined
}

const pageSizeDefault = 100
const names: readonly (keyof ListOptions)[] = ['state', 'queue', 'fromTaskId', 'limit', 'pageSize']

/** Lists tasks by id. It requests a page after the caller has consumed the previous one. */
export async function* listTasks(
  link: Link,
  options: ListOptions,
): AsyncGenerator<TaskSummary, void, undefined> {
  checkCallOptions(options, names)
  const { state, queue, fromTaskId = 1, limit, pageSize = pageSizeDefault } = options
  const { listMax, queueBytesMax } = messageLimits
  const filter = {
    state: state === undefined ? undefined : check.oneOf('state', state, taskStates),
    queue: queue === undefined ? undefined : check.text('queue', queue, 1, queueBytesMax),
  }
  const call = { signal: options.signal, timeoutMs: options.timeoutMs, retry: true }
  const most = Number.MAX_SAFE_INTEGER
  let left = limit === undefined ? most : check.whole('limit', limit, 0, most)
  let from: number | undefined = toTaskId('fromTaskId', fromTaskId)
  const page = check.whole('pageSize', pageSize, 1, listMax)
  while (from !== undefined && left > 0) {
    const request: NewRequest = {
      kind: 'list',
      ...filter,
      fromTaskId: from,
      limit: Math.min(page, left),
    }
    const answer: TasksFound = await demand(link, request, 'tasks', call)
    yield* answer.tasks.map(readSummary)
    left -= answer.tasks.length
    from = answer.nextTaskId
  }
}
