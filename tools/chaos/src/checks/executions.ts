import type { ExecutionStarted } from '../evidence/worker-lines.js'
import type { Case } from './case.js'
import type { Grant, TaskStory } from './history.js'

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

/** 002 §6: a task is granted again only after an expiry or a failure that stands in the log. */
export function* findUnexplainedGrants({ history }: Case): Generator<string> {
  for (const task of history.tasks.values()) {
    for (const { attempt, leaseId } of unexplainedGrants(task)) {
      yield `attempt ${attempt} of task ${task.taskId}, under lease ${leaseId}, follows no end of the one before`
    }
  }
}

function unexplainedGrants({ grants }: TaskStory): Grant[] {
  return grants.filter((_, index) => {
    const before = grants[index - 1]?.end?.how
    return index > 0 && before !== 'EXPIRED' && before !== 'FAILED'
  })
}

/** What was never executed cannot have been completed, and what no worker knew of only time can end. */
export function* findReportsByNobody({ history, started, workerLines }: Case): Generator<string> {
  for (const { leaseId, end, taskId } of history.leases.values()) {
    if (started.has(leaseId)) continue
    if (end?.how === 'COMPLETED') {
      yield `task ${taskId} was COMPLETED under lease ${leaseId}, and nobody executed it`
    }
    if (end?.how === 'FAILED' && !workerLines.has(leaseId)) {
      yield `task ${taskId} FAILED under lease ${leaseId}, of which no worker knew`
    }
  }
}
