import type { RequestOf } from '@tenure/protocol'
import { firstEligible } from '@tenure/testing'
import {
  answer,
  isPastExpiry,
  isPending,
  type Outcome,
  record,
  type Surroundings,
} from './outcome.js'

/** `semantics` §10 and §5: the first eligible task by `(eligible_at, task_id)`, to a worker with room. */
export function expectLease(
  { id, waitMs }: RequestOf<'lease'>,
  workerId: string,
  it: Surroundings,
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

/** Tasks with a decision on its way may not be offered. */
function firstOffered(it: Surroundings) {
  return firstEligible(it.tasks, it.now, ({ taskId }) => !isPending(it, taskId))
}
