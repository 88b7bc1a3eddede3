import type { Answer, Complete, Fail, Kill, Submit } from '@tenure/protocol'
import {
  countQueues,
  countTasks,
  findByRequestId,
  getLease,
  type LogRecord,
  type State,
} from '@tenure/state-machine'
import {
  getEligibleAfter,
  getSummary,
  getTaskState,
  isSameSubmission,
  type LeaseStanding,
  notBeforeOf,
  viewResult,
} from '@tenure/state-machine/internal'
import { notNow, rejected } from '../refusals.js'
import { type Asker, answer, type Circumstances, type Decision } from './decision.js'
import { judgeLease } from './lease-judgement.js'

/** How long to stay away from a coordinator that has too much waiting. */
const overloadedRetryMs = 1000
/** What a queue takes beside its tasks. */
const queueBytes = 512

/** 001 §3.1 and `semantics` §9: a new task, or the one that this same submission made before. */
export function decideSubmit(circumstances: Circumstances, request: Submit): Decision {
  const { state, knobs, now, nextLsn } = circumstances
  const { id, payload, requestId, queue } = request
  const known = requestId === undefined ? undefined : findByRequestId(state, requestId)
  if (known !== undefined) {
    if (isSameSubmission(state, known, request)) {
      return answer({ kind: 'submitted', id, taskId: known, known: true })
    }
    return answer(
      rejected(id, 'CONFLICT', `task ${known} was submitted differently under this request_id`),
    )
  }
  // Behind what is known: a coordinator that takes less than before has taken it all the same.
  if (payload.length > knobs.payloadBytesMax) {
    const message = `the payload has ${payload.length} bytes; at most ${knobs.payloadBytesMax} are taken`
    return answer(rejected(id, 'TOO_LARGE', message))
  }
  const overload = whyOverloaded(circumstances, payload.length)
  if (overload !== undefined) {
    return answer(notNow(id, 'OVERLOADED', overloadedRetryMs, overload))
  }
  const notBefore = notBeforeOf(request, now)
  const record: Building<'TaskCreated'> = {
    type: 'TaskCreated',
    at: now,
    taskId: nextLsn,
    payload,
    executionWindowMs: request.executionWindowMs ?? knobs.executionWindowMs,
    retryPolicy: request.retryPolicy ?? knobs.retryPolicy,
  }
  if (queue !== undefined) record.queue = queue
  if (notBefore !== undefined) record.notBefore = notBefore
  if (requestId !== undefined) record.requestId = requestId
  return {
    kind: 'record',
    record,
    answer: () => ({ kind: 'submitted', id, taskId: nextLsn, known: false }),
  }
}

/**
 * What ended tasks keep counts among the bytes: they are in memory like the others. Retention makes
 * room, and nothing sooner: a `request_id` that was forgotten to make room would run its task twice.
 */
function whyOverloaded(
  { state, knobs, submissions }: Circumstances,
  payloadBytes: number,
): string | undefined {
  const counts = countTasks(state)
  const waiting = counts.waiting + submissions.count
  const bytes = counts.bytes + submissions.bytes + countQueues(state) * queueBytes
  const { waitingTasksMax, tasksBytesMax } = knobs
  if (waiting >= waitingTasksMax) {
    return `${waiting} tasks are waiting; at most ${waitingTasksMax} may`
  }
  if (bytes + payloadBytes <= tasksBytesMax) return undefined
  return `tasks and queues take ${bytes} bytes, those that ended included; with this one at most ${tasksBytesMax} may be taken`
}

/** `semantics` §6: what a report comes to, checked in the order of its table. */
export function decideReport(
  circumstances: Circumstances,
  request: Complete | Fail,
  asker: Asker,
): Decision {
  const { state, now } = circumstances
  const { id, taskId, leaseId } = request
  const judgement = judgeLease(circumstances, request, asker)
  switch (judgement.kind) {
    case 'refused':
      return answer(judgement.refusal)
    case 'past expiry':
      return { kind: 'expire first' }
    case 'valid': {
      const tooLarge = whyTooLarge(circumstances, request)
      if (tooLarge !== undefined) return answer(rejected(id, 'TOO_LARGE', tooLarge))
      return {
        kind: 'record',
        record: reportRecord(request, now),
        answer: (state) => committed(state, id, taskId),
      }
    }
    case 'reported': {
      const { standing } = judgement
      if (isSameReport(state, request, standing)) return answer(committedBefore(state, request))
      return answer(rejected(id, 'DUPLICATE_REPORT', tellFirstReport(request, standing)))
    }
    case 'lost': {
      const { reason, supersededBy, standing } = judgement
      const cancelled = {
        kind: 'cancelled',
        id,
        reason,
        supersededBy,
      } as const
      // Once per lease: one confused worker cannot fill the log.
      if (standing.cancelled) return answer(cancelled)
      const record = { type: 'TaskCancelled', at: now, taskId, leaseId } as const
      return { kind: 'record', record, answer: () => cancelled }
    }
  }
}

/** Asked of a report that would be recorded: one that was committed before has the answer it had then. */
function whyTooLarge({ knobs }: Circumstances, request: Complete | Fail): string | undefined {
  const bytes = request.kind === 'complete' ? (request.result?.length ?? 0) : 0
  if (bytes <= knobs.resultBytesMax) return undefined
  return `the result has ${bytes} bytes; at most ${knobs.resultBytesMax} are taken`
}

/** `semantics` §8: an administrator, or the guard against poison pills, stops a task for good. */
export function decideKill({ state, now }: Circumstances, request: Kill): Decision {
  const { id, taskId, reason } = request
  const task = getSummary(state, taskId)
  switch (task?.state) {
    case undefined:
      return answer(rejected(id, 'UNKNOWN_TASK'))
    case 'DEAD':
      return answer({ kind: 'killed', id, known: true })
    case 'COMPLETED':
    case 'FAILED':
      return answer(rejected(id, 'TASK_TERMINAL', `task ${taskId} is ${task.state}`))
    case 'WAITING':
    case 'LEASED': {
      if (isPastExpiry(state, task.currentLeaseId, now)) return { kind: 'expire first' }
      const record = { type: 'TaskDead', at: now, taskId, reason } as const
      return { kind: 'record', record, answer: () => ({ kind: 'killed', id, known: false }) }
    }
  }
}

function reportRecord(request: Complete | Fail, at: number): LogRecord {
  const { taskId, leaseId, reportId } = request
  if (request.kind === 'fail') {
    const failureReason = request.reason
    const record: Building<'TaskFailed'> = {
      type: 'TaskFailed',
      at,
      taskId,
      leaseId,
      failureReason,
    }
    if (reportId !== undefined) record.reportId = reportId
    return record
  }
  const record: Building<'TaskCompleted'> = { type: 'TaskCompleted', at, taskId, leaseId }
  if (reportId !== undefined) record.reportId = reportId
  if (request.result !== undefined) record.result = request.result
  return record
}

/** A record that gets its optional fields one by one: spreading each of them takes longer than the decision. */
type Building<T extends LogRecord['type']> = {
  -readonly [K in keyof RecordOf<T>]: RecordOf<T>[K]
}

type RecordOf<T extends LogRecord['type']> = Extract<LogRecord, { readonly type: T }>

/** `semantics` §6: the report that was committed, sent again. Failure reasons are not compared. */
function isSameReport(
  state: State,
  request: Complete | Fail,
  { outcome, reportId }: LeaseStanding,
): boolean {
  if (request.reportId === undefined || request.reportId !== reportId) return false
  if (request.kind === 'fail') return outcome === 'FAILED'
  return outcome === 'COMPLETED' && isSameResult(request.result, viewResult(state, request.taskId))
}

function tellFirstReport(
  { kind, leaseId, reportId }: Complete | Fail,
  { outcome, reportId: firstId }: LeaseStanding,
): string {
  const isOtherResult =
    kind === 'complete' && outcome === 'COMPLETED' && reportId !== undefined && reportId === firstId
  const how = isOtherResult ? ', with another result under this report_id' : ''
  return `lease ${leaseId} was reported ${outcome} before${how}`
}

/** An empty result is a result; none is not. */
function isSameResult(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one, other) === 0
}

/** The answer that the report had: what has become of the task since is not its affair. */
function committedBefore(state: State, { kind, id, taskId, leaseId }: Complete | Fail): Answer {
  if (kind === 'complete') return { kind: 'committed', id, state: 'COMPLETED' }
  const eligibleAt = getEligibleAfter(state, taskId, leaseId)
  if (eligibleAt === undefined) return { kind: 'committed', id, state: 'FAILED' }
  return { kind: 'committed', id, state: 'WAITING', eligibleAt }
}

function committed(state: State, id: number, taskId: number): Answer {
  const { state: taskState, eligibleAt } = getTaskState(state, taskId)!
  if (eligibleAt === undefined) return { kind: 'committed', id, state: taskState }
  return { kind: 'committed', id, state: taskState, eligibleAt }
}

function isPastExpiry(state: State, leaseId: number | null, now: number): boolean {
  const lease = leaseId === null ? undefined : getLease(state, leaseId)
  return lease !== undefined && now >= lease.leaseExpiry
}
