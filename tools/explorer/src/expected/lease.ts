import type { RequestOf } from '@tenure/protocol'
import { firstEligible } from '@tenure/testing'
import {
  answer,
  type DecisionContext,
  isPastExpiry,
  isPending,
  type Outcome,
  record,
} from './outcome.js'

/**
 * `semantics` §10 and §5: the first eligible task by `(eligible_at, task_id)`, for a worker with
 * free capacity.
 */
export function expectLease(
  { id, waitMs }: RequestOf<'lease'>,
  workerId: string,
  it: DecisionContext,
): Outcome {
  const first = it.fullWorkers.includes(workerId) ? undefined : firstOffered(it)
  if (first !== undefined) {
    const { taskId, attempt, executionWindowMs } = first
    const leaseExpiry = it.now + Math.min(it.knobs.leaseDurationMs, executionWindowMs)
    const lease = { leaseId: it.nextLsn, workerId, attempt: attempt + 1, leaseExpiry }
    return record({ type: 'LeaseGranted', at: it.now, taskId, ...lease }, id, it)
  }
  const isExpiryDue = it.tasks.some(
    (task) => isPastExpiry(task, it.now) && !isPending(it, task.taskId),
  )
  if (isExpiryDue && !it.isFull) return { kind: 'waits' }
  return waitMs === 0 ? answer({ kind: 'empty', id }) : { kind: 'polls' }
}

/** A task with a pending decision may not be offered. */
function firstOffered(it: DecisionContext) {
  return firstEligible(it.tasks, it.now, ({ taskId }) => !isPending(it, taskId))
}
