import type { LogRecord } from '@tenure/state-machine'
import { type DecisionContext, findTask, isPastExpiry, isPending } from './outcome.js'

/** Whether time may cause this record now, without a request (`semantics` §4 and §7). */
export function isDecisionOfTime(
  record: LogRecord,
  hasStarted: boolean,
  it: DecisionContext,
): boolean {
  if (record.at !== it.now || !('taskId' in record) || isPending(it, record.taskId)) return false
  const task = findTask(it, record.taskId)
  if (task === undefined) return false
  if (record.type === 'LeaseExpired') {
    const isCurrent = record.leaseId === task.currentLeaseId
    return isCurrent && isPastExpiry(task, it.now) && record.atStart === !hasStarted
  }
  if (record.type !== 'TaskDead') return false
  const reason = `poison: ${task.expiriesInARow} leases in a row expired`
  return isPoison(task.taskId, it) && record.reason === reason
}

/** A task that has to be stopped, unless a record in flight may already do that. */
export function isPoison(taskId: number, it: DecisionContext): boolean {
  const task = findTask(it, taskId)!
  const { poisonThreshold } = it.knobs
  if (poisonThreshold === 0 || isPending(it, taskId)) return false
  return task.state === 'WAITING' && task.expiriesInARow >= poisonThreshold
}
