import { isDeepStrictEqual } from 'node:util'
import type { Answer, Complete, Fail, Heartbeat, Rejected, Request, Submit } from '@tenure/protocol'
import { defaultQueue, type LogRecord } from '@tenure/state-machine'
import { eligibleAfter, type NaiveModel, type NaiveTask } from '@tenure/testing'
import type { Statement } from '../world/wire.js'
import { plain } from './same-state.js'
import { agreesHistory } from './task-history.js'

type Attempt = NaiveTask['attempts'][number]
type Answered<K extends Answer['kind']> = Extract<Answer, { readonly kind: K }>
type Asked<K extends Request['kind']> = Extract<Request, { readonly kind: K }>

/**
 * Whether an answer is true where the model stands in the log, as far as a log can tell. It is written
 * from `semantics` §6 to §10 and asks the naive model alone.
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
      // It holds all that there was when it was asked for.
      return (
        Number(answer.checkpoint.lsn) >= fromLsn && Number(answer.checkpoint.lsn) <= model.lastLsn
      )
    // Nothing in the log says whether somebody was there, or that there was no task at some moment.
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

/** `semantics` §9. A COMPLETED task has no payload to compare with. */
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
  const areTerms =
    running.leaseExpiry === leaseExpiry && running.grantedAt + task.executionWindowMs === windowEnd
  const isTask = task.queue === queue && queues.includes(queue)
  return isGrant && areTerms && isTask && Buffer.compare(task.payload!, payload) === 0
}

function agreesCommitted(
  model: NaiveModel,
  who: string,
  request: Complete | Fail,
  { state, eligibleAt }: Answered<'committed'>,
): boolean {
  const attempt = attemptOf(model, request)
  const outcome = request.kind === 'complete' ? 'COMPLETED' : 'FAILED'
  if (attempt?.workerId !== who || attempt.outcome !== outcome) return false
  if (attempt.reportId !== request.reportId) return false
  const task = model.task(request.taskId)!
  if (request.kind === 'complete')
    return state === 'COMPLETED' && isSame(task.result, request.result)
  const expected = eligibleAfter(task, attempt)
  return state === (expected === undefined ? 'FAILED' : 'WAITING') && eligibleAt === expected
}

function agreesCancelled(
  model: NaiveModel,
  who: string,
  request: Complete | Fail,
  { reason, supersededBy }: Answered<'cancelled'>,
): boolean {
  const attempt = attemptOf(model, request)
  if (attempt?.workerId !== who || !attempt.cancelled) return false
  const lost = lossOf(model.task(request.taskId)!, attempt)
  return lost.reason === reason && lost.supersededBy === supersededBy
}

/** Why a lease is worth nothing any more that had no report. */
function lossOf(task: NaiveTask, attempt: Attempt): { reason?: string; supersededBy?: number } {
  if (attempt.outcome === 'DEAD') return { reason: 'TASK_TERMINAL' }
  if (attempt.outcome !== 'EXPIRED') return {}
  const newest = task.attempts.at(-1)!
  if (newest !== attempt && newest.leaseId !== attempt.leaseId) {
    return { reason: 'SUPERSEDED', supersededBy: newest.leaseId }
  }
  return { reason: task.state === 'DEAD' ? 'TASK_TERMINAL' : 'EXPIRED' }
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
    case 'TASK_TERMINAL':
      if (request.kind === 'kill') return hasEndedWell(model.task(request.taskId))
      return isLossOf(model, who, request as Heartbeat, reason)
    case 'EXPIRED':
    case 'SUPERSEDED':
      return isLossOf(model, who, request as Heartbeat, reason)
    case 'UNKNOWN_TASK':
      return 'taskId' in request && model.task(request.taskId) === undefined
    case 'UNKNOWN_LEASE': {
      const task = model.task((request as Heartbeat).taskId)
      return task !== undefined && attemptOf(model, request as Heartbeat) === undefined
    }
    case 'WRONG_WORKER': {
      const attempt = attemptOf(model, request as Heartbeat)
      return attempt !== undefined && attempt.workerId !== who
    }
    case 'REPORTED':
      return isReported(attemptOf(model, request as Heartbeat))
    case 'DUPLICATE_REPORT': {
      const attempt = attemptOf(model, request as Complete | Fail)
      return isReported(attempt) && !isSameReport(model, attempt!, request as Complete | Fail)
    }
    // Whether there was room, and what was too much at some moment, no log tells.
    default:
      return true
  }
}

function isConflict(model: NaiveModel, request: Submit): boolean {
  const taskId = request.requestId === undefined ? undefined : model.byRequestId(request.requestId)
  const task = taskId === undefined ? undefined : model.task(taskId)
  if (task === undefined) return false
  // Without its payload it cannot be told how the task was submitted.
  return task.payload === undefined || !isSameSubmission(task, request)
}

function isLossOf(model: NaiveModel, who: string, request: Heartbeat, reason: string): boolean {
  const attempt = attemptOf(model, request)
  if (attempt?.workerId !== who) return false
  return lossOf(model.task(request.taskId)!, attempt).reason === reason
}

function isReported(attempt: Attempt | undefined): boolean {
  return attempt?.outcome === 'COMPLETED' || attempt?.outcome === 'FAILED'
}

function isSameReport(model: NaiveModel, attempt: Attempt, request: Complete | Fail): boolean {
  if (request.reportId === undefined || attempt.reportId !== request.reportId) return false
  if (request.kind === 'fail') return attempt.outcome === 'FAILED'
  const { result } = model.task(request.taskId)!
  return attempt.outcome === 'COMPLETED' && isSame(result, request.result)
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

function attemptOf(
  model: NaiveModel,
  { taskId, leaseId }: Complete | Fail | Heartbeat,
): Attempt | undefined {
  return model.task(taskId)?.attempts.find((attempt) => attempt.leaseId === leaseId)
}

function currentAttempt(model: NaiveModel, request: Heartbeat): Attempt | undefined {
  const attempt = attemptOf(model, request)
  return attempt?.outcome === 'OPEN' ? attempt : undefined
}

function isSame(expected: unknown, found: unknown): boolean {
  return isDeepStrictEqual(plain(expected), plain(found))
}
