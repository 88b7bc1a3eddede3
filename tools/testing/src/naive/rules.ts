/**
 * The preconditions of each record, in the order of the specification. Returns the first broken rule in its
 * own words, or `undefined`.
 */
import type { NaiveRecord, NaiveRecordOf } from './record.js'
import { windowEndOf } from './standing.js'
import { findByRequestId, findLeasedTask, findTask, type NaiveState } from './state.js'
import { findAttempt, isTerminal, openAttempt } from './task.js'

type BrokenRule = string | undefined

export function findBrokenRule(state: NaiveState, lsn: number, record: NaiveRecord): BrokenRule {
  if (lsn !== state.lastLsn + 1) return 'LSN must follow the last one'
  if (record.at < state.lastAt) return 'at must never decrease'
  switch (record.type) {
    case 'TaskCreated':
      return checkTaskCreated(state, lsn, record)
    case 'LeaseGranted':
      return checkLeaseGranted(state, lsn, record)
    case 'LeaseExtended':
      return checkLeaseExtended(state, record)
    case 'LeaseExpired':
      return checkLeaseExpired(state, record)
    case 'TaskCompleted':
    case 'TaskFailed':
      return checkReport(state, record)
    case 'TaskCancelled':
      return checkTaskCancelled(state, record)
    case 'TaskDead':
      return checkTaskDead(state, record)
    case 'TasksForgotten':
      return record.through < lsn ? undefined : 'through must lie before the record'
  }
}

function checkTaskCreated(
  state: NaiveState,
  lsn: number,
  record: NaiveRecordOf<'TaskCreated'>,
): BrokenRule {
  if (findTask(state, record.taskId) !== undefined) return 'task_id must not already exist'
  if (record.taskId !== lsn) return 'task_id must equal the LSN'
  if (record.requestId !== undefined && findByRequestId(state, record.requestId) !== undefined) {
    return 'request_id must not belong to another task'
  }
  return undefined
}

function checkLeaseGranted(
  state: NaiveState,
  lsn: number,
  record: NaiveRecordOf<'LeaseGranted'>,
): BrokenRule {
  const task = findTask(state, record.taskId)
  if (task === undefined) return 'task must exist'
  if (task.state !== 'WAITING') return 'task must be in WAITING state'
  if (task.eligibleAt! > record.at) return 'task must be eligible'
  if (record.attempt !== task.attempt + 1) return 'attempt must equal previous_attempt + 1'
  if (record.leaseId !== lsn) return 'lease_id must equal the LSN'
  if (record.leaseExpiry <= record.at) return 'lease_expiry must be after at'
  if (record.leaseExpiry > record.at + task.executionWindowMs) {
    return 'lease_expiry must be within the execution window'
  }
  return undefined
}

function checkLeaseExtended(state: NaiveState, record: NaiveRecordOf<'LeaseExtended'>): BrokenRule {
  const task = findLeasedTask(state, record.leaseId)
  if (task === undefined) return 'lease must exist'
  const open = openAttempt(task)
  if (record.at >= open.leaseExpiry) return 'lease must be currently valid'
  if (record.newLeaseExpiry <= open.leaseExpiry) return 'new expiry must be > current expiry'
  if (record.newLeaseExpiry > windowEndOf(task, open)) {
    return 'new expiry must be within the execution window'
  }
  return undefined
}

function checkLeaseExpired(state: NaiveState, record: NaiveRecordOf<'LeaseExpired'>): BrokenRule {
  const task = findTask(state, record.taskId)
  if (task === undefined) return 'task must exist'
  if (task.state !== 'LEASED') return 'task must be in LEASED state'
  if (record.leaseId !== task.currentLeaseId) return 'lease_id must match current lease'
  if (record.at < openAttempt(task).leaseExpiry) return 'lease must have reached its expiry'
  return undefined
}

function checkReport(
  state: NaiveState,
  record: NaiveRecordOf<'TaskCompleted' | 'TaskFailed'>,
): BrokenRule {
  const task = findTask(state, record.taskId)
  if (task === undefined) return 'task must exist'
  if (task.state !== 'LEASED') return 'task must be in LEASED state'
  if (record.leaseId !== task.currentLeaseId) return 'lease_id must match current lease'
  if (record.at >= openAttempt(task).leaseExpiry) return 'lease must not be expired'
  return undefined
}

function checkTaskCancelled(state: NaiveState, record: NaiveRecordOf<'TaskCancelled'>): BrokenRule {
  const task = findTask(state, record.taskId)
  if (task === undefined) return 'task must exist'
  const attempt = findAttempt(task, record.leaseId)
  if (attempt === undefined) return 'lease must have been granted for the task'
  if (attempt.outcome !== 'EXPIRED' && attempt.outcome !== 'DEAD') {
    return 'lease must have lost its authority'
  }
  if (attempt.cancelled) return 'lease must not have been cancelled before'
  return undefined
}

function checkTaskDead(state: NaiveState, record: NaiveRecordOf<'TaskDead'>): BrokenRule {
  const task = findTask(state, record.taskId)
  if (task === undefined) return 'task must exist'
  if (isTerminal(task)) return 'task must not be terminal'
  return undefined
}
