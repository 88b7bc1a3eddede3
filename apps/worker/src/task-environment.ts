import type { Work } from '@tenure/worker-runtime'

/** The worker's own environment, which has no secrets any more, and what there is to know about the task. */
export function environmentOf(
  { taskId, queue, attempt, leaseId, deadline }: Work,
  own: NodeJS.ProcessEnv,
): NodeJS.ProcessEnv {
  return {
    ...own,
    TENURE_TASK_ID: String(taskId),
    TENURE_TASK_QUEUE: queue,
    TENURE_TASK_ATTEMPT: String(attempt),
    TENURE_TASK_LEASE_ID: String(leaseId),
    TENURE_TASK_DEADLINE: String(deadline),
  }
}
