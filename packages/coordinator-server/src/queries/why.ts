import type { Facts } from '@tenure/protocol'
import { getLease, type TaskSummary } from '@tenure/state-machine'
import { countAhead, getCurrentLeaseId, getSummary } from '@tenure/state-machine/internal'
import type { QuerySources } from './query-sources.js'

/** Maximum number of tasks ahead to count. */
const aheadMax = 10_000

/** Facts that explain why a task is not running. */
export function why(taskId: number, sources: QuerySources): Facts | undefined {
  const task = getSummary(sources.state, taskId)
  if (task === undefined) return undefined
  const { time, startedAt, polls, requestedQueues } = sources
  const now = time.now()
  const { state, queue, stateSince, eligibleAt } = task
  return {
    now,
    startedAt,
    state,
    queue,
    stateSince,
    pollsWaiting: polls.count(queue),
    pollsAreFull: (polls.has(queue) && polls.next(queue) === undefined) || undefined,
    queueLastAskedAt: requestedQueues.lastAt(queue),
    eligibleAt,
    ...(eligibleAt !== undefined && eligibleAt <= now && placeInLine(task, sources)),
    ...ownership(task, sources),
  }
}

function placeInLine({ taskId }: TaskSummary, { state }: QuerySources): Facts {
  const ahead = countAhead(state, taskId, aheadMax)
  if (ahead === undefined) return {}
  return { ahead: ahead.count, aheadIsMore: ahead.isMore || undefined }
}

/** The task's lease, and when its worker was last heard from. */
function ownership({ taskId }: TaskSummary, { state, registry }: QuerySources): Facts {
  const leaseId = getCurrentLeaseId(state, taskId)
  const lease = leaseId === undefined ? undefined : getLease(state, leaseId)
  if (lease === undefined) return {}
  const { workerId, attempt, grantedAt, leaseExpiry, windowEnd } = lease
  const lastHeardAt = registry.get(workerId)?.lastHeardAt ?? 0
  return {
    lease: { leaseId, workerId, attempt, grantedAt, leaseExpiry, windowEnd },
    workerLastHeardAt: lastHeardAt > 0 ? lastHeardAt : undefined,
  }
}
