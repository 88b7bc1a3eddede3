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
import {
  countQueues,
  countTasks,
  getCounters,
  getTask,
  listTasks,
  position,
} from '@tenure/state-machine'
import type { CoordinatorParts } from './parts.js'
import { rejected } from './refusals.js'

/** How large a page of a list gets, where frames are large enough. */
const pageBytesMax = 128 * 1024

/** What a summary takes without its reason, at most. */
const summaryBytes = 1024

/** What is known of a worker takes without its name, at most. */
const workerBytes = 64

/** How many tasks a page of a list looks at: a rare state must not make the loop wait. */
const lookedAtMax = 2500

/** Questions need no record: they see applied state. */
export type Question = Get | List | Workers | Stats | Why | History

const kinds: ReadonlySet<RequestKind | 'malformed'> = new Set<Question['kind']>([
  ...(['get', 'list', 'workers', 'stats', 'why', 'history'] as const),
])

export function isQuestion({ kind }: { readonly kind: RequestKind | 'malformed' }): boolean {
  return kinds.has(kind)
}

export function answerQuestion(request: Question, parts: CoordinatorParts): Answer {
  const { id } = request
  switch (request.kind) {
    case 'get': {
      const task = getTask(parts.state, request.taskId)
      return task === undefined
        ? rejected(id, 'UNKNOWN_TASK')
        : { kind: 'task', id, task: { ...task } }
    }
    case 'list':
      return list(request, parts)
    case 'workers':
      return workers(request, parts)
    case 'stats':
      return { kind: 'stats', id, stats: stats(parts) }
    case 'why':
    case 'history':
      return rejected(id, 'INTERNAL', 'it cannot be asked yet')
  }
}

function pageBytes({ answerBytesMax = pageBytesMax }: CoordinatorParts): number {
  return Math.min(pageBytesMax, answerBytesMax)
}

/** As many as fit: whoever has thousands looks at the metrics. */
function workers({ id }: Workers, parts: CoordinatorParts): Answer {
  const { registry } = parts
  const workers: Facts[] = []
  let bytes = 0
  for (const worker of registry.list()) {
    bytes += workerBytes + Buffer.byteLength(worker.name)
    if (bytes > pageBytes(parts)) break
    workers.push({ ...worker })
  }
  return { kind: 'workers', id, workers, leftOut: registry.size - workers.length }
}

function list({ id, state, queue, fromTaskId, limit }: List, parts: CoordinatorParts): Answer {
  const tasks: Facts[] = []
  let lookedAt = 0
  let bytes = 0
  for (const task of listTasks(parts.state, fromTaskId)) {
    if (tasks.length === limit || lookedAt === lookedAtMax || bytes > pageBytes(parts)) {
      return { kind: 'tasks', id, tasks, nextTaskId: task.taskId }
    }
    lookedAt++
    if (state !== undefined && task.state !== state) continue
    if (queue !== undefined && task.queue !== queue) continue
    tasks.push({ ...task })
    bytes += summaryBytes + Buffer.byteLength(task.reason ?? '')
  }
  return { kind: 'tasks', id, tasks }
}

function stats({ state, time, registry }: CoordinatorParts): Facts {
  const { lastLsn, lastAt } = position(state)
  return {
    lastLsn,
    lastAt,
    now: time.now(),
    tasks: countTasks(state),
    counters: getCounters(state),
    queues: countQueues(state),
    workers: registry.size,
  }
}
