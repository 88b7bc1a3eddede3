import type { Entry, RememberedAttempt, RememberedTask } from '@tenure/history'
import type { LogRecord } from '@tenure/state-machine'

/**
 * A task that is only remembered, told in records like those that were removed: when it was made,
 * who owned it, how that ended. Heartbeats and reasons are lost.
 */
export function retell(task: RememberedTask, firstLsn: number): Entry[] {
  const { taskId, createdAt, executionWindowMs, retryPolicy, queue, notBefore } = task
  if (taskId >= firstLsn) return []
  const created: LogRecord = {
    type: 'TaskCreated',
    at: createdAt,
    taskId,
    payload: new Uint8Array(),
    executionWindowMs,
    retryPolicy,
    queue,
    ...(notBefore !== undefined && { notBefore }),
  }
  const older = task.attempts.filter(({ leaseId }) => leaseId < firstLsn)
  return [
    { lsn: taskId, record: created },
    ...older.flatMap((attempt) => retellAttempt(taskId, attempt)),
  ]
}

function retellAttempt(taskId: number, attempt: RememberedAttempt): Entry[] {
  const { leaseId, workerId, grantedAt, endedAt } = attempt
  // Where even that is not known, the records that are left say how long it lasted.
  const { leaseExpiry = endedAt ?? grantedAt } = attempt
  const granted: LogRecord = {
    type: 'LeaseGranted',
    at: grantedAt,
    taskId,
    leaseId,
    workerId,
    leaseExpiry,
    attempt: attempt.attempt,
  }
  const end = endedAt === undefined ? undefined : endOf(taskId, attempt, endedAt)
  return [
    { lsn: leaseId, record: granted },
    // Which record it was is not remembered.
    ...(end === undefined ? [] : [{ lsn: unknownLsn, record: end }]),
  ]
}

export const unknownLsn = 0

function endOf(
  taskId: number,
  { leaseId, outcome }: RememberedAttempt,
  at: number,
): LogRecord | undefined {
  switch (outcome) {
    case 'COMPLETED':
      return { type: 'TaskCompleted', at, taskId, leaseId }
    case 'FAILED':
      return { type: 'TaskFailed', at, taskId, leaseId, failureReason: '' }
    case 'EXPIRED':
      return { type: 'LeaseExpired', at, taskId, leaseId, atStart: false }
    case 'DEAD':
      return { type: 'TaskDead', at, taskId, reason: '' }
    case 'OPEN':
      return undefined
  }
}
