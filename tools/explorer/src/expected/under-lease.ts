import { isDeepStrictEqual } from 'node:util'
import { type Reason, type RequestOf, reasons } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import { eligibleAfter, type NaiveTask } from '@tenure/testing'
import {
  afterExpiry,
  answer,
  findTask,
  isPending,
  type Outcome,
  record,
  refusal,
  type Surroundings,
} from './outcome.js'

type Report = RequestOf<'complete'> | RequestOf<'fail'>
type Attempt = NaiveTask['attempts'][number]

/** The table of `semantics` §6, for reports and for heartbeats. */
export function expectUnderLease(
  request: Report | RequestOf<'heartbeat'>,
  name: string,
  arrivedAt: number,
  it: Surroundings,
): Outcome {
  const { id, taskId, leaseId } = request
  if (isPending(it, taskId)) return { kind: 'waits' }
  const task = findTask(it, taskId)
  if (task === undefined) return refusal(id, 'UNKNOWN_TASK')
  const attempt = task.attempts.find((attempt) => attempt.leaseId === leaseId)
  if (attempt === undefined) return refusal(id, 'UNKNOWN_LEASE')
  if (attempt.workerId !== name) return refusal(id, 'WRONG_WORKER')
  if (attempt.outcome === 'OPEN') {
    if (it.now >= attempt.leaseExpiry) return afterExpiry(id, it)
    if (request.kind === 'heartbeat') return extension(id, arrivedAt, task, attempt, it)
    return record(reportRecord(request, it.now), id, it)
  }
  const isReported = attempt.outcome === 'COMPLETED' || attempt.outcome === 'FAILED'
  if (request.kind === 'heartbeat') {
    return refusal(id, isReported ? 'REPORTED' : whyLost(task, attempt).reason)
  }
  return isReported ? secondReport(request, task, attempt) : lateReport(request, task, attempt, it)
}

/** `semantics` §5: never past the window, and nothing is written that would not move the expiry. */
function extension(
  id: number,
  arrivedAt: number,
  task: NaiveTask,
  { leaseId, grantedAt, leaseExpiry }: Attempt,
  it: Surroundings,
): Outcome {
  const { now } = it
  const windowEnd = grantedAt + task.executionWindowMs
  const newLeaseExpiry = Math.min(now + it.knobs.leaseDurationMs, windowEnd)
  if (newLeaseExpiry > leaseExpiry) {
    return record({ type: 'LeaseExtended', at: now, leaseId, newLeaseExpiry }, id, it)
  }
  return answer({ kind: 'extended', id, ...terms(leaseExpiry, windowEnd, now, arrivedAt) })
}

export function terms(leaseExpiry: number, windowEnd: number, at: number, arrivedAt: number) {
  const durations = { leaseMs: leaseExpiry - at, windowMs: windowEnd - at }
  return { leaseExpiry, windowEnd, heldMs: at - arrivedAt, ...durations }
}

function reportRecord(request: Report, at: number): LogRecord {
  const { taskId, leaseId, reportId } = request
  const rest = { at, taskId, leaseId, reportId: reportId! }
  if (request.kind === 'complete') return { type: 'TaskCompleted', ...rest }
  return { type: 'TaskFailed', ...rest, failureReason: request.reason }
}

/** The same report has the same answer; another one under the same lease is an error. */
function secondReport(request: Report, task: NaiveTask, attempt: Attempt): Outcome {
  const { id, kind, reportId } = request
  const isSame =
    kind === 'complete'
      ? attempt.outcome === 'COMPLETED' && isDeepStrictEqual(request.result, task.result)
      : attempt.outcome === 'FAILED'
  if (!isSame || attempt.reportId !== reportId) return refusal(id, 'DUPLICATE_REPORT')
  if (kind === 'complete') return answer({ kind: 'committed', id, state: 'COMPLETED' })
  const eligibleAt = eligibleAfter(task, attempt)
  if (eligibleAt === undefined) return answer({ kind: 'committed', id, state: 'FAILED' })
  return answer({ kind: 'committed', id, state: 'WAITING', eligibleAt })
}

/** CANCELLED, and one record of it for each lease. */
function lateReport(request: Report, task: NaiveTask, attempt: Attempt, it: Surroundings): Outcome {
  const { id, taskId, leaseId } = request
  if (!attempt.cancelled)
    return record({ type: 'TaskCancelled', at: it.now, taskId, leaseId }, id, it)
  return answer({ kind: 'cancelled', id, ...whyLost(task, attempt) })
}

export function whyLost(
  { state, attempts }: NaiveTask,
  { leaseId, outcome }: Attempt,
): { readonly reason: Reason; readonly supersededBy?: number } {
  const newest = attempts.at(-1)!.leaseId
  if (outcome === 'EXPIRED' && newest !== leaseId) {
    return { reason: 'SUPERSEDED', supersededBy: newest }
  }
  return { reason: outcome === 'DEAD' || state === 'DEAD' ? 'TASK_TERMINAL' : 'EXPIRED' }
}

/** `semantics` §8. */
export function expectKill(request: RequestOf<'kill'>, it: Surroundings): Outcome {
  const { id, taskId, reason } = request
  if (isPending(it, taskId)) return { kind: 'waits' }
  const task = findTask(it, taskId)
  if (task === undefined) return refusal(id, 'UNKNOWN_TASK')
  if (task.state === 'DEAD') return answer({ kind: 'killed', id, known: true })
  if (task.state === 'COMPLETED' || task.state === 'FAILED') {
    const { TASK_TERMINAL: message } = reasons
    return answer({ kind: 'rejected', id, reason: 'TASK_TERMINAL', message })
  }
  const lease = task.attempts.at(-1)
  if (task.state === 'LEASED' && it.now >= lease!.leaseExpiry) return afterExpiry(id, it)
  return record({ type: 'TaskDead', at: it.now, taskId, reason }, id, it)
}
