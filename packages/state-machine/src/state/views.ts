import { outcomes } from '../store/attempt-rows.js'
import { states } from '../store/task-rows.js'
import {
  type Attempt,
  attemptOutcomes,
  type Counters,
  type Lease,
  type LeaseStanding,
  type Task,
  type TaskState,
  type TaskSummary,
  taskStates,
} from '../task.js'
import { attemptsOf, findAttempt } from './attempts.js'
import { outcomeOf, payloadOf, requestIdOf } from './contents.js'
import { backoffMs, retryPolicyOf } from './retry-policy.js'
import { findOwned, findTask, type State } from './state.js'

/** A copy of the task with its attempts. `undefined` if it does not exist or was forgotten. */
export function getTask(state: State, taskId: number): Task | undefined {
  const row = findTask(state, taskId)
  return row === 0 ? undefined : viewTask(state, row)
}

/** The task without its payload, result and attempts. */
export function getSummary(state: State, taskId: number): TaskSummary | undefined {
  const row = findTask(state, taskId)
  return row === 0 ? undefined : viewSummary(state, row)
}

/** The size of the largest payload, result or reason of any task. Scans every task. */
export function largestContents({ authoritative }: State): number {
  const { tasks, blobs } = authoritative
  let largest = 0
  for (const row of tasks.rows()) {
    for (const blob of [tasks.input.get(row), tasks.outcome.get(row)]) {
      if (blob !== 0) largest = Math.max(largest, blobs.length(blob))
    }
  }
  return largest
}

/** Every task from `fromTaskId` on, ordered by id. */
export function* listTasks(state: State, fromTaskId = 1): Generator<TaskSummary> {
  const { byLsn } = state.derived
  for (const [lsn, row] of byLsn.entries(fromTaskId)) {
    if (state.authoritative.tasks.taskId.get(row) === lsn) yield viewSummary(state, row)
  }
}

/** The payload of a task, if it has one. A view that is valid until the next record is applied. */
export function viewPayload(state: State, taskId: number): Uint8Array | undefined {
  const row = findTask(state, taskId)
  if (row === 0 || state.authoritative.tasks.state.get(row) === states.COMPLETED) return undefined
  return payloadOf(state, row)
}

/** The result of a completed task, if it has one. A view, like that of `viewPayload`. */
export function viewResult(state: State, taskId: number): Uint8Array | undefined {
  const row = findTask(state, taskId)
  if (row === 0 || state.authoritative.tasks.state.get(row) !== states.COMPLETED) return undefined
  return outcomeOf(state, row)
}

/** The status of the lease now. `undefined` if the task does not remember this lease. */
export function getStanding(
  state: State,
  taskId: number,
  leaseId: number,
): LeaseStanding | undefined {
  const { tasks, attempts, workers, blobs } = state.authoritative
  const row = findTask(state, taskId)
  const attempt = row === 0 ? 0 : findAttempt(state, row, leaseId)
  if (attempt === 0) return undefined
  const grantedAt = attempts.grantedAt.get(attempt)
  const reportId = attempts.reportId.get(attempt)
  return {
    taskState: taskStates[tasks.state.get(row)]!,
    workerId: workers.text(attempts.worker.get(attempt)),
    outcome: attemptOutcomes[attempts.outcome.get(attempt)]!,
    grantedAt,
    leaseExpiry: attempts.leaseExpiry.get(attempt),
    windowEnd: grantedAt + tasks.executionWindowMs.get(row),
    reportId: reportId === 0 ? undefined : blobs.text(reportId),
    cancelled: attempts.cancelled.get(attempt) !== 0,
    newestLeaseId: attempts.leaseId.get(tasks.newestAttempt.get(row)),
  }
}

/**
 * When the task became eligible again after this failure, whatever happened later. `undefined` if
 * no retry was left.
 */
export function getEligibleAfter(
  state: State,
  taskId: number,
  leaseId: number,
): number | undefined {
  const { tasks, attempts } = state.authoritative
  const row = findTask(state, taskId)
  let failures = tasks.failures.get(row)
  for (const attempt of attemptsOf(state, row)) {
    if (attempts.leaseId.get(attempt) === leaseId) {
      if (failures > tasks.maxRetries.get(row)) return undefined
      return attempts.endedAt.get(attempt) + backoffMs(tasks, row, failures)
    }
    if (attempts.outcome.get(attempt) === outcomes.FAILED) failures--
  }
  return undefined
}

/** The facts about a task that a grant needs. */
export function getOffer(
  { authoritative, derived }: State,
  taskId: number,
): { readonly attempt: number; readonly executionWindowMs: number } | undefined {
  const row = findTask({ authoritative, derived }, taskId)
  if (row === 0) return undefined
  const { tasks } = authoritative
  return { attempt: tasks.attempt.get(row), executionWindowMs: tasks.executionWindowMs.get(row) }
}

/** The state of the task, and when it is eligible if it is WAITING. */
export function getTaskState(
  state: State,
  taskId: number,
): { readonly state: TaskState; readonly eligibleAt?: number } | undefined {
  const row = findTask(state, taskId)
  if (row === 0) return undefined
  const { tasks } = state.authoritative
  const number = tasks.state.get(row)
  if (number !== states.WAITING) return { state: taskStates[number]! }
  return { state: 'WAITING', eligibleAt: tasks.due.get(row) }
}

/** The lease that owns the task now, or `undefined`. */
export function getCurrentLeaseId(state: State, taskId: number): number | undefined {
  const row = findTask(state, taskId)
  return row === 0 ? undefined : state.authoritative.tasks.currentLeaseId.get(row) || undefined
}

export function getQueue(state: State, taskId: number): string | undefined {
  const { tasks, queues } = state.authoritative
  const row = findTask(state, taskId)
  return row === 0 ? undefined : queues.text(tasks.queue.get(row))
}

export function hasTask(state: State, taskId: number): boolean {
  return findTask(state, taskId) !== 0
}

/** The lease, if it owns a task now. The caller must check whether it is still valid. */
export function getLease(state: State, leaseId: number): Lease | undefined {
  const row = findOwned(state, leaseId)
  return row === 0 ? undefined : viewLease(state, row)
}

/** The leases that the task remembers, newest first. */
export function getLeaseIds(state: State, taskId: number): number[] {
  const row = findTask(state, taskId)
  if (row === 0) return []
  const { attempts } = state.authoritative
  return Array.from(attemptsOf(state, row), (attempt) => attempts.leaseId.get(attempt))
}

/** The task that the lease owns now. */
export function getLeasedTaskId(state: State, leaseId: number): number | undefined {
  const row = findOwned(state, leaseId)
  return row === 0 ? undefined : state.authoritative.tasks.taskId.get(row)
}

/** The id of the remembered task that was submitted with this `request_id`. */
export function findByRequestId(state: State, requestId: string): number | undefined {
  const row = state.derived.byRequestId.find(requestId)
  return row === 0 ? undefined : state.authoritative.tasks.taskId.get(row)
}

/** The LSN and the time of the last applied record, or 0 before the first. */
export function position({ authoritative }: State): {
  readonly lastLsn: number
  readonly lastAt: number
} {
  const { lastLsn, lastAt } = authoritative
  return { lastLsn, lastAt }
}

export function getCounters({ authoritative }: State): Counters {
  return { ...authoritative.counters }
}

/** Fields that a view has in some states only. */
type Part<View, Name extends keyof View> = Required<Pick<View, Name>> | undefined

function viewTask(state: State, row: number): Task {
  const completed = state.authoritative.tasks.state.get(row) === states.COMPLETED
  const result = completed ? outcomeOf(state, row) : undefined
  const open: Part<Task, 'payload'> = completed
    ? undefined
    : { payload: Uint8Array.from(payloadOf(state, row)) }
  const done: Part<Task, 'result'> = result && { result: Uint8Array.from(result) }
  return {
    ...viewSummary(state, row),
    ...open,
    ...done,
    attempts: viewAttempts(state, row),
  }
}

function viewSummary(state: State, row: number): TaskSummary {
  const { tasks, attempts, queues, workers } = state.authoritative
  const stateNumber = tasks.state.get(row)
  const due = tasks.due.get(row)
  const reason = stateNumber === states.COMPLETED ? undefined : outcomeOf(state, row)
  const owned: Part<TaskSummary, 'workerId' | 'leaseExpiry'> =
    stateNumber === states.LEASED
      ? {
          workerId: workers.text(attempts.worker.get(tasks.newestAttempt.get(row))),
          leaseExpiry: due,
        }
      : undefined
  const named: Part<TaskSummary, 'requestId'> =
    tasks.requestIdBytes.get(row) > 0 ? { requestId: requestIdOf(state, row) } : undefined
  const delayed: Part<TaskSummary, 'notBefore'> =
    tasks.hasNotBefore.get(row) === 0 ? undefined : { notBefore: tasks.notBefore.get(row) }
  const waiting: Part<TaskSummary, 'eligibleAt'> =
    stateNumber === states.WAITING ? { eligibleAt: due } : undefined
  const ended: Part<TaskSummary, 'endedLsn'> =
    stateNumber > states.LEASED ? { endedLsn: due } : undefined
  const explained: Part<TaskSummary, 'reason'> = reason && { reason: reason.toString() }
  return {
    taskId: tasks.taskId.get(row),
    queue: queues.text(tasks.queue.get(row)),
    state: taskStates[stateNumber]!,
    attempt: tasks.attempt.get(row),
    currentLeaseId: tasks.currentLeaseId.get(row) || null,
    ...owned,
    executionWindowMs: tasks.executionWindowMs.get(row),
    retryPolicy: retryPolicyOf(tasks, row),
    ...named,
    createdAt: tasks.createdAt.get(row),
    ...delayed,
    stateSince: tasks.stateSince.get(row),
    ...waiting,
    failures: tasks.failures.get(row),
    expiriesInARow: tasks.expiriesInARow.get(row),
    ...ended,
    ...explained,
  }
}

function viewAttempts({ authoritative }: State, row: number): Attempt[] {
  const { tasks, attempts, workers, blobs } = authoritative
  const views: Attempt[] = []
  let number = tasks.attempt.get(row)
  for (let at = tasks.newestAttempt.get(row); at !== 0; at = attempts.older.get(at)) {
    const outcome = attempts.outcome.get(at)
    const reportId = blobs.text(attempts.reportId.get(at))
    const ended: Part<Attempt, 'endedAt'> =
      outcome === outcomes.OPEN ? undefined : { endedAt: attempts.endedAt.get(at) }
    const reported: Part<Attempt, 'reportId'> = reportId === '' ? undefined : { reportId }
    views.unshift({
      attempt: number--,
      leaseId: attempts.leaseId.get(at),
      workerId: workers.text(attempts.worker.get(at)),
      grantedAt: attempts.grantedAt.get(at),
      leaseExpiry: attempts.leaseExpiry.get(at),
      outcome: attemptOutcomes[outcome]!,
      ...ended,
      ...reported,
      cancelled: attempts.cancelled.get(at) !== 0,
    })
  }
  return views
}

function viewLease({ authoritative }: State, row: number): Lease {
  const { tasks, attempts, workers, queues } = authoritative
  const attempt = tasks.newestAttempt.get(row)
  const grantedAt = attempts.grantedAt.get(attempt)
  return {
    leaseId: tasks.currentLeaseId.get(row),
    taskId: tasks.taskId.get(row),
    queue: queues.text(tasks.queue.get(row)),
    attempt: tasks.attempt.get(row),
    workerId: workers.text(attempts.worker.get(attempt)),
    grantedAt,
    leaseExpiry: tasks.due.get(row),
    windowEnd: grantedAt + tasks.executionWindowMs.get(row),
  }
}
