/** The effects of each record. The rules were checked before. */

import { findLease } from './duplicates.js'
import type { NaiveRecord, NaiveRecordOf } from './record.js'
import { findLeasedTask, findTask, type NaiveState } from './state.js'
import {
  backoffMs,
  findAttempt,
  isTerminal,
  type NaiveAttempt,
  type NaiveTask,
  naiveAttemptsKept,
  openAttempt,
} from './task.js'

export function takeEffect(state: NaiveState, lsn: number, record: NaiveRecord): void {
  state.lastLsn = lsn
  state.lastAt = record.at
  switch (record.type) {
    case 'TaskCreated':
      createTask(state, record)
      break
    case 'LeaseGranted':
      grantLease(state, record)
      break
    case 'LeaseExtended':
      extendLease(state, record)
      break
    case 'LeaseExpired':
      expireLease(state, record)
      break
    case 'TaskCompleted':
      completeTask(state, lsn, record)
      break
    case 'TaskFailed':
      failTask(state, lsn, record)
      break
    case 'TaskCancelled':
      cancelReport(state, record)
      break
    case 'TaskDead':
      killTask(state, lsn, record)
      break
    case 'TasksForgotten':
      forgetTasks(state, record)
      break
  }
}

function createTask(state: NaiveState, record: NaiveRecordOf<'TaskCreated'>): void {
  const task: NaiveTask = {
    taskId: record.taskId,
    queue: record.queue ?? 'default',
    state: 'WAITING',
    attempt: 0,
    currentLeaseId: null,
    payload: new Uint8Array(record.payload),
    executionWindowMs: record.executionWindowMs,
    retryPolicy: structuredClone(record.retryPolicy),
    createdAt: record.at,
    stateSince: record.at,
    eligibleAt: Math.max(record.at, record.notBefore ?? record.at),
    failures: 0,
    expiriesInARow: 0,
    attempts: [],
  }
  if (record.requestId !== undefined) task.requestId = record.requestId
  if (record.notBefore !== undefined) task.notBefore = record.notBefore
  state.tasks.push(task)
  state.counted.tasksCreated += 1
}

function grantLease(state: NaiveState, record: NaiveRecordOf<'LeaseGranted'>): void {
  const task = findTask(state, record.taskId)!
  const granted: NaiveAttempt = {
    attempt: record.attempt,
    leaseId: record.leaseId,
    workerId: record.workerId,
    grantedAt: record.at,
    leaseExpiry: record.leaseExpiry,
    outcome: 'OPEN',
    cancelled: false,
  }
  task.attempts = [...task.attempts, granted].slice(-naiveAttemptsKept)
  task.state = 'LEASED'
  task.stateSince = record.at
  task.attempt = record.attempt
  task.currentLeaseId = record.leaseId
  task.workerId = record.workerId
  task.leaseExpiry = record.leaseExpiry
  delete task.eligibleAt
  const { taskId, leaseId } = record
  state.leases.push({ leaseId, taskId, hasExpired: false, reportRefused: false })
  state.counted.leasesGranted += 1
}

function extendLease(state: NaiveState, record: NaiveRecordOf<'LeaseExtended'>): void {
  const task = findLeasedTask(state, record.leaseId)!
  openAttempt(task).leaseExpiry = record.newLeaseExpiry
  task.leaseExpiry = record.newLeaseExpiry
  state.counted.leasesExtended += 1
}

function expireLease(state: NaiveState, record: NaiveRecordOf<'LeaseExpired'>): void {
  const task = findTask(state, record.taskId)!
  endAttempt(task, 'EXPIRED', record.at)
  findLease(state.leases, record.leaseId)!.hasExpired = true
  makeWaiting(task, record.at, record.at)
  state.counted.leasesExpired += 1
  if (record.atStart) state.counted.leasesExpiredAtStart += 1
  else task.expiriesInARow += 1
}

function completeTask(
  state: NaiveState,
  lsn: number,
  record: NaiveRecordOf<'TaskCompleted'>,
): void {
  const task = findTask(state, record.taskId)!
  endAttempt(task, 'COMPLETED', record.at, record.reportId)
  makeTerminal(task, 'COMPLETED', lsn, record.at)
  task.expiriesInARow = 0
  delete task.payload
  delete task.reason
  if (record.result !== undefined) task.result = new Uint8Array(record.result)
  state.counted.tasksCompleted += 1
}

function failTask(state: NaiveState, lsn: number, record: NaiveRecordOf<'TaskFailed'>): void {
  const task = findTask(state, record.taskId)!
  endAttempt(task, 'FAILED', record.at, record.reportId)
  task.failures += 1
  task.expiriesInARow = 0
  task.reason = record.failureReason
  if (task.failures <= task.retryPolicy.maxRetries) {
    const delayMs = backoffMs(task.retryPolicy.backoff, task.failures)
    makeWaiting(task, record.at, record.at + delayMs)
    state.counted.retries += 1
  } else {
    makeTerminal(task, 'FAILED', lsn, record.at)
    state.counted.tasksFailed += 1
  }
}

function cancelReport(state: NaiveState, record: NaiveRecordOf<'TaskCancelled'>): void {
  const task = findTask(state, record.taskId)!
  findAttempt(task, record.leaseId)!.cancelled = true
  findLease(state.leases, record.leaseId)!.reportRefused = true
}

function killTask(state: NaiveState, lsn: number, record: NaiveRecordOf<'TaskDead'>): void {
  const task = findTask(state, record.taskId)!
  if (task.state === 'LEASED') endAttempt(task, 'DEAD', record.at)
  makeTerminal(task, 'DEAD', lsn, record.at)
  task.reason = record.reason
  state.counted.tasksDead += 1
}

function forgetTasks(state: NaiveState, record: NaiveRecordOf<'TasksForgotten'>): void {
  const kept = state.tasks.filter((task) => !isTerminal(task) || task.endedLsn! > record.through)
  state.counted.tasksForgotten += state.tasks.length - kept.length
  state.tasks = kept
}

function endAttempt(
  task: NaiveTask,
  outcome: NaiveAttempt['outcome'],
  at: number,
  reportId?: string,
): void {
  const open = openAttempt(task)
  open.outcome = outcome
  open.endedAt = at
  if (reportId !== undefined) open.reportId = reportId
}

function makeWaiting(task: NaiveTask, at: number, eligibleAt: number): void {
  task.state = 'WAITING'
  task.stateSince = at
  task.currentLeaseId = null
  delete task.workerId
  delete task.leaseExpiry
  task.eligibleAt = eligibleAt
}

function makeTerminal(
  task: NaiveTask,
  terminal: 'COMPLETED' | 'FAILED' | 'DEAD',
  lsn: number,
  at: number,
): void {
  task.state = terminal
  task.stateSince = at
  task.currentLeaseId = null
  delete task.workerId
  delete task.leaseExpiry
  task.endedLsn = lsn
  delete task.eligibleAt
}
