/** The rights of a request, according to the applied records: the tables of `semantics` §5, §6 and §10. */
import { eligibleAfter, findAttempt, type NaiveAttempt, type NaiveTask } from './task.js'

/** A request that names a lease. */
export interface UnderLease {
  readonly kind: 'heartbeat' | 'complete' | 'fail'
  readonly leaseId: number
  readonly reportId?: string | undefined
  readonly result?: Uint8Array | undefined
}

type Loss = 'EXPIRED' | 'SUPERSEDED' | 'TASK_TERMINAL'
type Misfit = 'UNKNOWN_TASK' | 'UNKNOWN_LEASE' | 'WRONG_WORKER' | 'REPORTED' | 'DUPLICATE_REPORT'

/** Why a request is rejected, and the lease that superseded its own. */
export interface NaiveRefusal<Reason = Loss | Misfit> {
  readonly reason: Reason
  readonly supersededBy?: number
}

/** `undefined` if the request is served: its lease is open, or it repeats an accepted report. */
export function refusalOf(
  task: NaiveTask | undefined,
  request: UnderLease,
  workerId: string,
): NaiveRefusal | undefined {
  if (task === undefined) return { reason: 'UNKNOWN_TASK' }
  const attempt = findAttempt(task, request.leaseId)
  if (attempt === undefined) return { reason: 'UNKNOWN_LEASE' }
  if (attempt.workerId !== workerId) return { reason: 'WRONG_WORKER' }
  switch (attempt.outcome) {
    case 'OPEN':
      return undefined
    case 'COMPLETED':
    case 'FAILED': {
      if (request.kind === 'heartbeat') return { reason: 'REPORTED' }
      const isSame = request.reportId !== undefined && isReportOf(task, attempt, request)
      return isSame ? undefined : { reason: 'DUPLICATE_REPORT' }
    }
    case 'EXPIRED':
    case 'DEAD':
      return lossOf(task, attempt)
  }
}

/** Whether the lease is lost, so that a report under it is recorded and cancelled. */
export function isLoss(refusal: NaiveRefusal): refusal is NaiveRefusal<Loss> {
  return ['EXPIRED', 'SUPERSEDED', 'TASK_TERMINAL'].includes(refusal.reason)
}

/** Why a lease that ended without a report has lost its authority. */
export function lossOf(
  { state, attempts }: NaiveTask,
  { leaseId, outcome }: NaiveAttempt,
): NaiveRefusal<Loss> {
  const newest = attempts.at(-1)!.leaseId
  if (outcome === 'EXPIRED' && newest !== leaseId) {
    return { reason: 'SUPERSEDED', supersededBy: newest }
  }
  return { reason: outcome === 'DEAD' || state === 'DEAD' ? 'TASK_TERMINAL' : 'EXPIRED' }
}

/** Whether this is the report that ended the attempt. */
export function isReportOf(
  { result }: NaiveTask,
  attempt: NaiveAttempt,
  request: UnderLease,
): boolean {
  if (attempt.reportId !== request.reportId) return false
  if (request.kind === 'fail') return attempt.outcome === 'FAILED'
  return attempt.outcome === 'COMPLETED' && isSameResult(result, request.result)
}

function isSameResult(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.length === other.length && one.every((byte, index) => byte === other[index])
}

/** The state of the task after an accepted report, and when it became eligible again. */
export function leftBy(
  task: NaiveTask,
  attempt: NaiveAttempt,
): { readonly state: 'COMPLETED' | 'FAILED' | 'WAITING'; readonly eligibleAt?: number } {
  if (attempt.outcome === 'COMPLETED') return { state: 'COMPLETED' }
  const eligibleAt = eligibleAfter(task, attempt)
  return eligibleAt === undefined ? { state: 'FAILED' } : { state: 'WAITING', eligibleAt }
}

/** The latest time to which the lease can be extended. */
export function windowEndOf(task: NaiveTask, { grantedAt }: NaiveAttempt): number {
  return grantedAt + task.executionWindowMs
}

/** The order in which WAITING tasks are leased. */
export function byEligibility(one: NaiveTask, other: NaiveTask): number {
  return one.eligibleAt! - other.eligibleAt! || one.taskId - other.taskId
}

/** The task that is leased next, among the offered ones. */
export function firstEligible(
  tasks: readonly NaiveTask[],
  now: number,
  isOffered: (task: NaiveTask) => boolean,
): NaiveTask | undefined {
  return tasks
    .filter((task) => task.state === 'WAITING' && task.eligibleAt! <= now && isOffered(task))
    .sort(byEligibility)[0]
}
