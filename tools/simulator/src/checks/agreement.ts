import { isDeepStrictEqual } from 'node:util'
import type { Answer, Complete, Fail, Heartbeat, Rejected, Request, Submit } from '@tenure/protocol'
import { defaultQueue, type LogRecord } from '@tenure/state-machine'
import {
  findAttempt,
  isReportOf,
  leftBy,
  type NaiveModel,
  type NaiveTask,
  refusalOf,
  windowEndOf,
} from '@tenure/testing'
import type { Statement } from '../world/wire.js'
import { agreesHistory } from './task-history.js'

type UnderLease = Complete | Fail | Heartbeat
type Attempt = NaiveTask['attempts'][number]
type Answered<K extends Answer['kind']> = Extract<Answer, { readonly kind: K }>
type Asked<K extends Request['kind']> = Extract<Request, { readonly kind: K }>

/**
 * Whether an answer is true at the model's position in the log, as far as a log can tell. Written
 * from `semantics` §6 to §10; it uses only the naive model.
 */
export function agrees(
  model: NaiveModel,
  { who, request, answer, fromLsn, coveredLsn }: Statement,
  records: readonly LogRecord[],
): boolean {
  switch (answer?.kind) {
    case 'submitted':
      return agreesSubmitted(model, request as Submit, answer, fromLsn)
    case 'leased':
      return agreesLeased(model, who, request as Asked<'lease'>, answer, fromLsn)
    case 'extended': {
      const running = currentAttempt(model, request as Heartbeat)
      return running?.workerId === who && running.leaseExpiry === answer.leaseExpiry
    }
    case 'committed':
      return agreesCommitted(model, who, request as Complete | Fail, answer)
    case 'cancelled':
      return agreesCancelled(model, who, request as Complete | Fail, answer)
    case 'killed':
      return model.task((request as Asked<'kill'>).taskId)?.state === 'DEAD'
    case 'rejected':
      return agreesRejected(model, who, request, answer)
    case 'task':
      return isSame(model.task((request as Asked<'get'>).taskId), answer.task)
    case 'tasks':
      return agreesTasks(model, request as Asked<'list'>, answer)
    case 'stats':
      return agreesStats(model, answer)
    case 'why':
      return agreesWhy(model, request as Asked<'why'>, answer)
    case 'history':
      return agreesHistory(
        request as Asked<'history'>,
        answer,
        { lastLsn: model.lastLsn, coveredLsn },
        records,
      )
    case 'checkpointed':
      // The page covers the log at the time of the request.
      return (
        Number(answer.checkpoint.lsn) >= fromLsn && Number(answer.checkpoint.lsn) <= model.lastLsn
      )
    // The log does not show who was connected, or that no task was available at some moment.
    case 'empty':
    case 'pong':
    case 'withdrawn':
    case 'workers':
    case undefined:
      return true
  }
}

function agreesSubmitted(
  model: NaiveModel,
  request: Submit,
  { taskId, known }: Answered<'submitted'>,
  fromLsn: number,
): boolean {
  const task = model.task(taskId)
  if (task === undefined || task.requestId !== request.requestId) return false
  if (known) return isSameSubmission(task, request)
  return taskId > fromLsn && isSameSubmission(task, request)
}

/** `semantics` §9. A COMPLETED task has no payload to compare. */
function isSameSubmission(task: NaiveTask, request: Submit): boolean {
  const { payload, queue = defaultQueue, executionWindowMs, retryPolicy } = request
  const { delayMs = 0, notBefore } = request
  if (task.notBefore !== (delayMs > 0 ? task.createdAt + delayMs : notBefore)) return false
  if (task.payload !== undefined && Buffer.compare(task.payload, payload) !== 0) return false
  if (task.queue !== queue) return false
  if (executionWindowMs !== undefined && task.executionWindowMs !== executionWindowMs) return false
  return retryPolicy === undefined || isDeepStrictEqual(task.retryPolicy, retryPolicy)
}

function agreesLeased(
  model: NaiveModel,
  who: string,
  { queues }: Asked<'lease'>,
  answer: Answered<'leased'>,
  fromLsn: number,
): boolean {
  const { taskId, leaseId, attempt, leaseExpiry, windowEnd, queue, payload } = answer
  if (model.lastLsn !== leaseId || leaseId <= fromLsn) return false
  const task = model.task(taskId)
  const running = task?.attempts.at(-1)
  if (task === undefined || running === undefined) return false
  const isGrant =
    running.leaseId === leaseId && running.workerId === who && running.attempt === attempt
  const areTerms = running.leaseExpiry === leaseExpiry && windowEndOf(task, running) === windowEnd
  const isTask = task.queue === queue && queues.includes(queue)
  return isGrant && areTerms && isTask && Buffer.compare(task.payload!, payload) === 0
}

function agreesCommitted(
  model: NaiveModel,
  who: string,
  request: Complete | Fail,
  { state, eligibleAt }: Answered<'committed'>,
): boolean {
  const task = model.task(request.taskId)
  const attempt = task && findAttempt(task, request.leaseId)
  if (task === undefined || attempt?.workerId !== who) return false
  const left = leftBy(task, attempt)
  return (
    isReportOf(task, attempt, request) && left.state === state && left.eligibleAt === eligibleAt
  )
}

function agreesCancelled(
  model: NaiveModel,
  who: string,
  request: Complete | Fail,
  { reason, supersededBy }: Answered<'cancelled'>,
): boolean {
  const lost = refusalOf(model.task(request.taskId), request, who)
  const isNoted = attemptOf(model, request)?.cancelled === true
  return isNoted && lost?.reason === reason && lost.supersededBy === supersededBy
}

function agreesRejected(
  model: NaiveModel,
  who: string,
  request: Request,
  { reason }: Rejected,
): boolean {
  switch (reason) {
    case 'CONFLICT':
      return isConflict(model, request as Submit)
    case 'UNKNOWN_TASK':
      return 'taskId' in request && model.task(request.taskId) === undefined
    case 'TASK_TERMINAL':
      if (request.kind === 'kill') return hasEndedWell(model.task(request.taskId))
      return isRefused(model, who, request as UnderLease, reason)
    case 'EXPIRED':
    case 'SUPERSEDED':
    case 'UNKNOWN_LEASE':
    case 'WRONG_WORKER':
    case 'REPORTED':
    case 'DUPLICATE_REPORT':
      return isRefused(model, who, request as UnderLease, reason)
    // The log does not show whether the disk had space or a limit was reached.
    default:
      return true
  }
}

function isConflict(model: NaiveModel, request: Submit): boolean {
  const taskId = request.requestId === undefined ? undefined : model.byRequestId(request.requestId)
  const task = taskId === undefined ? undefined : model.task(taskId)
  if (task === undefined) return false
  // Without the payload the original submission is unknown.
  return task.payload === undefined || !isSameSubmission(task, request)
}

function isRefused(model: NaiveModel, who: string, request: UnderLease, reason: string): boolean {
  return refusalOf(model.task(request.taskId), request, who)?.reason === reason
}

function hasEndedWell(task: NaiveTask | undefined): boolean {
  return task?.state === 'COMPLETED' || task?.state === 'FAILED'
}

function agreesTasks(
  model: NaiveModel,
  { state, queue, fromTaskId = 1, limit }: Asked<'list'>,
  { tasks, nextTaskId }: Answered<'tasks'>,
): boolean {
  const listed = model.tasks().filter((task) => {
    if (task.taskId < fromTaskId || task.taskId >= (nextTaskId ?? Number.POSITIVE_INFINITY))
      return false
    return (state ?? task.state) === task.state && (queue ?? task.queue) === task.queue
  })
  if (limit !== undefined && tasks.length > limit) return false
  return isSame(listed.map(summarize), tasks)
}

function summarize({ payload: _, result: __, attempts: ___, ...summary }: NaiveTask) {
  return summary
}

function agreesStats(model: NaiveModel, { stats }: Answered<'stats'>): boolean {
  if (stats.lastLsn !== model.lastLsn || stats.lastAt !== model.lastAt) return false
  const tasks = model.tasks()
  const { waiting, leased, ended } = stats.tasks as Record<string, number>
  const count = (...states: string[]) => tasks.filter((it) => states.includes(it.state)).length
  return (
    isSame(model.counters(), stats.counters) &&
    count('WAITING') === waiting &&
    count('LEASED') === leased &&
    count('COMPLETED', 'FAILED', 'DEAD') === ended
  )
}

function agreesWhy(model: NaiveModel, { taskId }: Asked<'why'>, { why }: Answered<'why'>): boolean {
  const task = model.task(taskId)
  if (task === undefined) return false
  const lease = why.lease as { readonly leaseId?: number } | undefined
  return (
    task.state === why.state &&
    task.stateSince === why.stateSince &&
    task.eligibleAt === (why.eligibleAt ?? undefined) &&
    task.currentLeaseId === (lease?.leaseId ?? null)
  )
}

function attemptOf(model: NaiveModel, { taskId, leaseId }: UnderLease): Attempt | undefined {
  const task = model.task(taskId)
  return task && findAttempt(task, leaseId)
}

function currentAttempt(model: NaiveModel, request: Heartbeat): Attempt | undefined {
  const attempt = attemptOf(model, request)
  return attempt?.outcome === 'OPEN' ? attempt : undefined
}

function isSame(expected: unknown, found: unknown): boolean {
  return isDeepStrictEqual(plain(expected), plain(found))
}

/**
 * Normalises a value for comparison: absent, nil and undefined are equal, and so are all byte
 * arrays with the same bytes.
 */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const fields = Object.entries(value)
    .filter(([, field]) => field !== null && field !== undefined)
    .map(([name, field]) => [name, plain(field)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields)
}
