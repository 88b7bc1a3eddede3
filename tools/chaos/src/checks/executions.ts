import type { ExecutionStarted } from '../evidence/worker-lines.js'
import type { Case } from './case.js'
import type { Grant, TaskHistory } from './history.js'

/** Every execution has a lease of its own, granted to its worker for its task. */
export function* findUngrantedExecutions({ history, started }: Case): Generator<string> {
  for (const [leaseId, executions] of started) {
    const { taskId, attempt, worker } = executions[0]!
    const what = `${worker} executed attempt ${attempt} of task ${taskId} under lease ${leaseId}`
    const grant = history.leases.get(leaseId)
    if (grant === undefined) yield `${what}, which was never granted`
    else if (!fits(executions[0]!, grant)) {
      const { worker, attempt, taskId } = grant
      yield `${what}, which was granted to ${worker} for attempt ${attempt} of task ${taskId}`
    }
    if (executions.length > 1) yield `${what} ${executions.length} times`
  }
}

function fits(execution: ExecutionStarted, grant: Grant): boolean {
  const { taskId, attempt, worker } = grant
  return execution.taskId === taskId && execution.attempt === attempt && execution.worker === worker
}

/** 002 §6: a task is granted again only after an expiry or a failure that is in the log. */
export function* findUnexplainedGrants({ history }: Case): Generator<string> {
  for (const task of history.tasks.values()) {
    for (const { attempt, leaseId } of unexplainedGrants(task)) {
      yield `attempt ${attempt} of task ${task.taskId}, under lease ${leaseId}, was granted although the attempt before had not ended`
    }
  }
}

function unexplainedGrants({ grants }: TaskHistory): Grant[] {
  return grants.filter((_, index) => {
    const before = grants[index - 1]?.end?.how
    return index > 0 && before !== 'EXPIRED' && before !== 'FAILED'
  })
}

/**
 * A completed task was executed. A failed task was at least known to a worker; one that no worker
 * knew can only expire.
 */
export function* findReportsWithoutExecution({
  history,
  started,
  workerLines,
}: Case): Generator<string> {
  for (const { leaseId, end, taskId } of history.leases.values()) {
    if (started.has(leaseId)) continue
    if (end?.how === 'COMPLETED') {
      yield `task ${taskId} was COMPLETED under lease ${leaseId} and was never executed`
    }
    if (end?.how === 'FAILED' && !workerLines.has(leaseId)) {
      yield `task ${taskId} FAILED under lease ${leaseId}, which no worker knew of`
    }
  }
}
