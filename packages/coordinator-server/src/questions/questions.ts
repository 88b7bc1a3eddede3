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
import { pageBytes, type QuestionSources } from './question-sources.js'
import { stats } from './stats.js'
import { why } from './why.js'
import { workers } from './workers.js'

/** Maximum size of a task summary without its reason. */
const summaryBytes = 1024

/** Maximum number of tasks to scan per page, so that a filter with few matches does not block the loop. */
const lookedAtMax = 2500

/** Requests that need no record: they read applied state, and `history` reads the log. */
type StateQuestion = Get | List | Workers | Stats | Why
export type Question = StateQuestion | History

const kinds: ReadonlySet<RequestKind | 'malformed'> = new Set<Question['kind']>([
  ...(['get', 'list', 'workers', 'stats', 'why', 'history'] as const),
])

export function isQuestion({ kind }: { readonly kind: RequestKind | 'malformed' }): boolean {
  return kinds.has(kind)
}

export function answerQuestion(request: StateQuestion, sources: QuestionSources): Answer {
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
      return { kind: 'stats', id, stats: known(stats(sources)) }
    case 'why': {
      const facts = why(request.taskId, sources)
      return facts === undefined
        ? rejected(id, 'UNKNOWN_TASK')
        : { kind: 'why', id, why: known(facts) }
    }
  }
}

/** Drops undefined fields, which would be encoded as nil. */
function known(facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([, fact]) => fact !== undefined))
}

function list({ id, state, queue, fromTaskId, limit }: List, sources: QuestionSources): Answer {
  const tasks: Facts[] = []
  let lookedAt = 0
  let bytes = 0
  for (const task of listTasks(sources.state, fromTaskId)) {
    if (tasks.length === limit || lookedAt === lookedAtMax || bytes > pageBytes(sources)) {
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
