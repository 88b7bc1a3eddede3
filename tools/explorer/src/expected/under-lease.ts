import { type RequestOf, reasons } from '@tenure/protocol'
import type { LogRecord } from '@tenure/state-machine'
import {
  findAttempt,
  isLoss,
  leftBy,
  type NaiveTask,
  refusalOf,
  windowEndOf,
} from '@tenure/testing'
import {
  afterExpiry,
  answer,
  type DecisionContext,
  findTask,
  isPending,
  type Outcome,
  record,
  refusal,
} from './outcome.js'

type Report = RequestOf<'complete'> | RequestOf<'fail'>
type Attempt = NaiveTask['attempts'][number]

/** The table of `semantics` §6, for reports and for heartbeats. */
export function expectUnderLease(
  request: Report | RequestOf<'heartbeat'>,
  name: string,
  arrivedAt: number,
  it: DecisionContext,
): Outcome {
  const { id, taskId, leaseId } = request
  if (isPending(it, taskId)) return { kind: 'waits' }
  const task = findTask(it, taskId)
  const refused = refusalOf(task, request, name)
  if (refused !== undefined) {
    if (request.kind === 'heartbeat' || !isLoss(refused)) return refusal(id, refused.reason)
    const { cancelled } = findAttempt(task!, leaseId)!
    // Each lease has at most one TaskCancelled record.
    if (cancelled) return answer({ kind: 'cancelled', id, ...refused })
    return record({ type: 'TaskCancelled', at: it.now, taskId, leaseId }, id, it)
  }
  const attempt = findAttempt(task!, leaseId)!
  if (attempt.outcome !== 'OPEN') {
    return answer({ kind: 'committed', id, ...leftBy(task!, attempt) })
  }
  if (it.now >= attempt.leaseExpiry) return afterExpiry(id, it)
  if (request.kind === 'heartbeat') return extension(id, arrivedAt, task!, attempt, it)
  return record(reportRecord(request, it.now), id, it)
}

/** `semantics` §5: never past the window; no record is written that would not move the expiry. */
function extension(
  id: number,
  arrivedAt: number,
  task: NaiveTask,
  attempt: Attempt,
  it: DecisionContext,
): Outcome {
  const { now } = it
  const { leaseId, leaseExpiry } = attempt
  const windowEnd = windowEndOf(task, attempt)
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

/** `semantics` §8. */
export function expectKill(request: RequestOf<'kill'>, it: DecisionContext): Outcome {
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
