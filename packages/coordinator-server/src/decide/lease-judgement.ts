import type { Complete, Fail, Heartbeat, Reason, Rejected } from '@tenure/protocol'
import { getStanding, hasTask, type LeaseStanding } from '@tenure/state-machine/internal'
import { rejected } from '../refusals.js'
import type { Caller, DecisionContext } from './decision.js'

/** The status of the lease named by a heartbeat or a report, in the order of the table in `semantics` §6. */
export type LeaseJudgement =
  | { readonly kind: 'refused'; readonly refusal: Rejected }
  /** The lease owns the task. */
  | { readonly kind: 'valid'; readonly standing: LeaseStanding }
  /** The lease owns the task but has expired: LeaseExpired must be recorded before any answer. */
  | { readonly kind: 'past expiry' }
  /** A report under the lease was committed. */
  | { readonly kind: 'reported'; readonly standing: LeaseStanding }
  /** The lease expired, or its task was stopped. */
  | {
      readonly kind: 'lost'
      readonly standing: LeaseStanding
      readonly reason: Reason
      readonly supersededBy?: number
    }

export function judgeLease(
  { state, now }: DecisionContext,
  { id, taskId, leaseId }: Complete | Fail | Heartbeat,
  caller: Caller,
): LeaseJudgement {
  const standing = getStanding(state, taskId, leaseId)
  if (standing === undefined) {
    const reason = hasTask(state, taskId) ? 'UNKNOWN_LEASE' : 'UNKNOWN_TASK'
    return { kind: 'refused', refusal: rejected(id, reason) }
  }
  if (standing.workerId !== caller.name) {
    return { kind: 'refused', refusal: rejected(id, 'WRONG_WORKER') }
  }
  switch (standing.outcome) {
    case 'OPEN':
      return now < standing.leaseExpiry ? { kind: 'valid', standing } : { kind: 'past expiry' }
    case 'COMPLETED':
    case 'FAILED':
      return { kind: 'reported', standing }
    case 'DEAD':
      return { kind: 'lost', standing, reason: 'TASK_TERMINAL' }
    case 'EXPIRED': {
      const { newestLeaseId, taskState } = standing
      if (newestLeaseId !== leaseId) {
        return { kind: 'lost', standing, reason: 'SUPERSEDED', supersededBy: newestLeaseId }
      }
      return { kind: 'lost', standing, reason: taskState === 'DEAD' ? 'TASK_TERMINAL' : 'EXPIRED' }
    }
  }
}
