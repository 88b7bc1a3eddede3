import { omitUndefined } from '../omit-undefined.js'
import { lateReportOf } from './attempts.js'
import { windowOver } from './causes.js'
import { coordinatorStart } from './coordinator-starts.js'
import type { ExplainedEvent } from './explanation.js'
import type { KnownAttempt } from './known-attempts.js'
import type { KnownTask } from './known-task.js'
import { counted, leaseOf, moment, span } from './words.js'

/** How an attempt ended: by timeout, or by its worker's report. */
export function tellEnd(task: KnownTask, own: KnownAttempt) {
  const { end, leaseId, grantedAt } = own
  const after = grantedAt === undefined ? '' : ` after ${span(end!.at - grantedAt)}`
  const who = whoOf(own)
  const worker = `worker ${own.workerId ?? 'unknown'}`
  switch (end!.outcome) {
    case 'EXPIRED':
      return { kind: 'EXPIRED' as const, ...who, ...expired(task, own, after) }
    case 'COMPLETED':
      return {
        kind: 'COMPLETED' as const,
        ...who,
        what: `completed under lease ${leaseId}${after}`,
        why: `${worker} reported it`,
      }
    default:
      return {
        kind: 'FAILED' as const,
        ...who,
        what: `failed under lease ${leaseId}${after}`,
        why: `${worker} reported it${end!.reason ? `: ${end!.reason}` : ''}`,
        ...afterFailure(task, own),
      }
  }
}

function afterFailure(task: KnownTask, { end }: KnownAttempt) {
  const { failures, backoffMs, eligibleAt } = end!
  const retriesMax = task.created?.retryPolicy.maxRetries
  if (failures === undefined || retriesMax === undefined) return {}
  const count = counted(failures, 'failure', 'failures')
  if (backoffMs === undefined || eligibleAt === undefined) {
    return { notes: [`${count}, ${counted(retriesMax, 'retry', 'retries')}: FAILED for good`] }
  }
  const from = backoffMs === 0 ? 'immediately' : `from ${moment(eligibleAt)} on`
  return { notes: [`retry ${failures} of ${retriesMax}, after ${span(backoffMs)}: ${from}`] }
}

function expired(task: KnownTask, own: KnownAttempt, after: string) {
  const { end, leaseId, lateReport } = own
  const notes = lateReport === undefined ? ['no report came'] : []
  return omitUndefined<Pick<ExplainedEvent, 'what' | 'why' | 'notes'>>({
    what: `lease ${leaseId} expired${after}`,
    why: whyExpired(task, own),
    notes: end!.outcome === 'EXPIRED' && notes.length > 0 ? notes : undefined,
  })
}

function whyExpired(task: KnownTask, own: KnownAttempt): string {
  const { end, leaseExpiry, heartbeats, grantedAt, isRemembered } = own
  if (end!.atStart === true) {
    const start = coordinatorStart(task, end!.lsn!)
    const epoch = start === undefined ? '' : ` of epoch ${start.epoch}`
    const ago = leaseExpiry === undefined ? '' : `, ${span(end!.at - leaseExpiry)} after the expiry`
    return `found at the start${epoch}${ago}`
  }
  const windowMs = windowOver(task, own)
  if (windowMs !== undefined) return `its execution window of ${span(windowMs)} had ended`
  const lastSeen = heartbeats.at(-1)?.at ?? (isRemembered ? undefined : grantedAt)
  if (leaseExpiry === undefined || lastSeen === undefined) return 'the lease had reached its expiry'
  const since = heartbeats.length > 0 ? 'the last heartbeat' : 'the grant'
  return `${span(leaseExpiry - lastSeen)} had passed since ${since}`
}

/** A report without authority. */
export function tellCancelled(task: KnownTask, own: KnownAttempt) {
  const late = lateReportOf(task, own)!
  const since = own.end?.outcome === 'DEAD' ? 'the task was stopped' : 'the expiry'
  const after =
    late.lateMs === undefined ? 'its lease was lost' : `it came ${span(late.lateMs)} after ${since}`
  return {
    kind: 'CANCELLED' as const,
    ...whoOf(own),
    what: `a report under ${leaseOf(own)} was CANCELLED, and its content was discarded`,
    why: [after, ...instead(own, late)].join('; '),
  }
}

function instead(
  own: KnownAttempt,
  { state, supersededBy }: { state?: string; supersededBy?: object },
) {
  if (state === undefined) return []
  if (supersededBy === undefined) return [`the task was ${state}`]
  const { attempt, leaseId } = supersededBy as { attempt?: number; leaseId: number }
  if (leaseId === own.leaseId) return [`the task was ${state}`]
  const which = attempt === undefined ? `lease ${leaseId}` : `attempt ${attempt} (lease ${leaseId})`
  return [state === 'LEASED' ? `${which} owned the task` : `the task was ${state} after ${which}`]
}

export function whoOf({ attempt, leaseId, workerId }: KnownAttempt) {
  return omitUndefined<Pick<ExplainedEvent, 'attempt' | 'leaseId' | 'worker'>>({
    attempt,
    leaseId,
    worker: workerId,
  })
}
