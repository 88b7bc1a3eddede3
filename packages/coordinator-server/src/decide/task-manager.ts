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
import { rejected, rejectedForNow } from '../refusals.js'
import { answer, type Caller, type Decision, type DecisionContext } from './decision.js'
import { judgeLease } from './lease-judgement.js'

/** Retry delay for a client whose submission was rejected as OVERLOADED. */
const overloadedRetryMs = 1000
/** Memory counted per queue, in addition to its tasks. */
const queueBytes = 512

/** 001 §3.1 and `semantics` §9: creates a task, or finds the one with the same request id. */
export function decideSubmit(context: DecisionContext, request: Submit): Decision {
  const { state, knobs, now, nextLsn } = context
  const { id, payload, requestId, queue } = request
  const known = requestId === undefined ? undefined : findByRequestId(state, requestId)
  if (known !== undefined) {
    if (isSameSubmission(state, known, request)) {
      return answer({ kind: 'submitted', id, taskId: known, known: true })
    }
    return answer(
      rejected(
        id,
        'CONFLICT',
        `task ${known} was submitted with this request_id but different content`,
      ),
    )
  }
  // Only new tasks are checked: a limit that was lowered later must not affect a repeated submission.
  if (payload.length > knobs.payloadBytesMax) {
    const message = `the payload has ${payload.length} bytes; the maximum is ${knobs.payloadBytesMax}`
    return answer(rejected(id, 'TOO_LARGE', message))
  }
  const overload = whyOverloaded(context, payload.length)
  if (overload !== undefined) {
    return answer(rejectedForNow(id, 'OVERLOADED', overloadedRetryMs, overload))
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
 * Ended tasks count because they are in memory too. Only retention removes them: forgetting a
 * `request_id` early to free memory could run its task twice.
 */
function whyOverloaded(
  { state, knobs, submissions }: DecisionContext,
  payloadBytes: number,
): string | undefined {
  const counts = countTasks(state)
  const waiting = counts.waiting + submissions.count
  const bytes = counts.bytes + submissions.bytes + countQueues(state) * queueBytes
  const { waitingTasksMax, tasksBytesMax } = knobs
  if (waiting >= waitingTasksMax) {
    return `${waiting} tasks are waiting; the maximum is ${waitingTasksMax}`
  }
  if (bytes + payloadBytes <= tasksBytesMax) return undefined
  return `tasks, including ended ones, and queues use ${bytes} bytes; this task would exceed the maximum of ${tasksBytesMax}`
}

/** `semantics` §6: decides a report in the order of the table there. */
export function decideReport(
  context: DecisionContext,
  request: Complete | Fail,
  caller: Caller,
): Decision {
  const { state, now } = context
  const { id, taskId, leaseId } = request
  const judgement = judgeLease(context, request, caller)
  switch (judgement.kind) {
    case 'refused':
      return answer(judgement.refusal)
    case 'past expiry':
      return { kind: 'expire first' }
    case 'valid': {
      const tooLarge = whyTooLarge(context, request)
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
      return answer(rejected(id, 'DUPLICATE_REPORT', describeFirstReport(request, standing)))
    }
    case 'lost': {
      const { reason, supersededBy, standing } = judgement
      const cancelled = {
        kind: 'cancelled',
        id,
        reason,
        supersededBy,
      } as const
      // One record per lease, so that a faulty worker cannot fill the log.
      if (standing.cancelled) return answer(cancelled)
      const record = { type: 'TaskCancelled', at: now, taskId, leaseId } as const
      return { kind: 'record', record, answer: () => cancelled }
    }
  }
}

/** Only checked for a new report; a repeated one gets its original answer. */
function whyTooLarge({ knobs }: DecisionContext, request: Complete | Fail): string | undefined {
  const bytes = request.kind === 'complete' ? (request.result?.length ?? 0) : 0
  if (bytes <= knobs.resultBytesMax) return undefined
  return `the result has ${bytes} bytes; the maximum is ${knobs.resultBytesMax}`
}

/** `semantics` §8: ends a task for an administrator. */
export function decideKill({ state, now }: DecisionContext, request: Kill): Decision {
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

/** A record whose optional fields are assigned one by one, which is faster than spreading them. */
type Building<T extends LogRecord['type']> = {
  -readonly [K in keyof RecordOf<T>]: RecordOf<T>[K]
}

type RecordOf<T extends LogRecord['type']> = Extract<LogRecord, { readonly type: T }>

/** `semantics` §6: whether this repeats the committed report. Failure reasons are not compared. */
function isSameReport(
  state: State,
  request: Complete | Fail,
  { outcome, reportId }: LeaseStanding,
): boolean {
  if (request.reportId === undefined || request.reportId !== reportId) return false
  if (request.kind === 'fail') return outcome === 'FAILED'
  return outcome === 'COMPLETED' && isSameResult(request.result, viewResult(state, request.taskId))
}

function describeFirstReport(
  { kind, leaseId, reportId }: Complete | Fail,
  { outcome, reportId: firstId }: LeaseStanding,
): string {
  const isOtherResult =
    kind === 'complete' && outcome === 'COMPLETED' && reportId !== undefined && reportId === firstId
  const how = isOtherResult ? ' with this report_id and another result' : ''
  return `lease ${leaseId} was already reported ${outcome}${how}`
}

/** An empty result differs from no result. */
function isSameResult(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return Buffer.compare(one, other) === 0
}

/** The original answer to the report, regardless of what happened to the task since. */
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
