import type { Complete, Fail, Heartbeat, Reason, Rejected } from '@tenure/protocol'
import { getStanding, hasTask, type LeaseStanding } from '@tenure/state-machine/internal'
import { rejected } from '../refusals.js'
import type { Asker, Circumstances } from './decision.js'

/**
 * What the lease under a heartbeat or a report is worth, found in the order of the table in
 * `semantics` §6.
 */
export type LeaseJudgement =
  | { readonly kind: 'refused'; readonly refusal: Rejected }
  /** It owns the task. */
  | { readonly kind: 'valid'; readonly standing: LeaseStanding }
  /** It owns the task, and its time is over: a LeaseExpired has to come before any answer. */
  | { readonly kind: 'past expiry' }
  /** A report under it was committed. */
  | { readonly kind: 'reported'; readonly standing: LeaseStanding }
  /** It expired, or its task was stopped. */
  | {
      readonly kind: 'lost'
      readonly standing: LeaseStanding
      readonly reason: Reason
      readonly supersededBy?: number
    }

export function judgeLease(
  { state, now }: Circumstances,
  { id, taskId, leaseId }: Complete | Fail | Heartbeat,
  asker: Asker,
): LeaseJudgement {
  const standing = getStanding(state, taskId, leaseId)
  if (standing === undefined) {
    const reason = hasTask(state, taskId) ? 'UNKNOWN_LEASE' : 'UNKNOWN_TASK'
    return { kind: 'refused', refusal: rejected(id, reason) }
  }
  if (standing.workerId !== asker.name) {
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
