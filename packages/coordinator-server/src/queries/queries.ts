import { omitUndefined } from '@tenure/history/internal'
import type {
  Answer,
  Facts,
  Get,
  History,
  List,
  RequestKind,
  Stats,
  Why,
  Workers,
} from '@tenure/protocol'
import { getTask, listTasks } from '@tenure/state-machine'
import { rejected } from '../refusals.js'
import { pageBytes, type QuerySources } from './query-sources.js'
import { stats } from './stats.js'
import { why } from './why.js'
import { workers } from './workers.js'

/** Maximum size of a task summary without its reason. */
const summaryBytes = 1024

/** Maximum number of tasks to scan per page, so that a filter with few matches does not block the loop. */
const scannedMax = 2500

/** Requests that need no record: they read applied state, and `history` reads the log. */
type StateQuery = Get | List | Workers | Stats | Why
export type Query = StateQuery | History

const kinds: ReadonlySet<RequestKind | 'malformed'> = new Set<Query['kind']>([
  ...(['get', 'list', 'workers', 'stats', 'why', 'history'] as const),
])

export function isQuery({ kind }: { readonly kind: RequestKind | 'malformed' }): boolean {
  return kinds.has(kind)
}

export function answerQuery(request: StateQuery, sources: QuerySources): Answer {
  const { id } = request
  switch (request.kind) {
    case 'get': {
      const task = getTask(sources.state, request.taskId)
      return task === undefined
        ? rejected(id, 'UNKNOWN_TASK')
        : { kind: 'task', id, task: { ...task } }
    }
    case 'list':
      return list(request, sources)
    case 'workers':
      return workers(request, sources)
    case 'stats':
      return { kind: 'stats', id, stats: omitUndefined(stats(sources)) }
    case 'why': {
      const facts = why(request.taskId, sources)
      return facts === undefined
        ? rejected(id, 'UNKNOWN_TASK')
        : { kind: 'why', id, why: omitUndefined(facts) }
    }
  }
}

function list({ id, state, queue, fromTaskId, limit }: List, sources: QuerySources): Answer {
  const tasks: Facts[] = []
  let scanned = 0
  let bytes = 0
  for (const task of listTasks(sources.state, fromTaskId)) {
    if (tasks.length === limit || scanned === scannedMax || bytes > pageBytes(sources)) {
      return { kind: 'tasks', id, tasks, nextTaskId: task.taskId }
    }
    scanned++
    if (state !== undefined && task.state !== state) continue
    if (queue !== undefined && task.queue !== queue) continue
    tasks.push({ ...task })
    bytes += summaryBytes + Buffer.byteLength(task.reason ?? '')
  }
  return { kind: 'tasks', id, tasks }
}
