import { type Backoff, describe } from '@tenure/options'
import { malformedRecord, StateMachineError } from '../errors.js'
import { type LogRecord, recordLimits, type TaskCreated } from '../record.js'
import { isTextOf, isWholeOf } from '../values.js'

/**
 * Rejects malformed records: a field of the wrong type, a number that is not an integer, a text
 * that is too long. Runs before a record is encoded, after one is decoded, and before one is
 * applied. So nothing malformed gets into a log, out of a log, or into a state.
 */
export function checkShape(record: LogRecord): void {
  if (typeof record !== 'object' || record === null)
    throw malformedRecord(`${describe(record)} is not a record; it must be an object`)
  const { type } = record
  switch (type) {
    case 'TaskCreated':
      checkTaskCreated(record)
      break
    case 'LeaseGranted':
      lsn(type, 'taskId', record.taskId)
      lsn(type, 'leaseId', record.leaseId)
      text(type, 'workerId', record.workerId, 1, workerIdBytesMax)
      whole(type, 'attempt', record.attempt, 1, attemptMax)
      time(type, 'leaseExpiry', record.leaseExpiry)
      break
    case 'LeaseExtended':
      lsn(type, 'leaseId', record.leaseId)
      time(type, 'newLeaseExpiry', record.newLeaseExpiry)
      break
    case 'LeaseExpired':
      lsn(type, 'taskId', record.taskId)
      lsn(type, 'leaseId', record.leaseId)
      if (typeof record.atStart !== 'boolean')
        throw malformed(type, 'atStart', record.atStart, 'a boolean')
      break
    case 'TaskCompleted':
      lsn(type, 'taskId', record.taskId)
      lsn(type, 'leaseId', record.leaseId)
      if (record.reportId !== undefined)
        text(type, 'reportId', record.reportId, 1, reportIdBytesMax)
      if (record.result !== undefined) bytes(type, 'result', record.result)
      break
    case 'TaskFailed':
      lsn(type, 'taskId', record.taskId)
      lsn(type, 'leaseId', record.leaseId)
      text(type, 'failureReason', record.failureReason, 0, reasonBytesMax)
      if (record.reportId !== undefined)
        text(type, 'reportId', record.reportId, 1, reportIdBytesMax)
      break
    case 'TaskCancelled':
      lsn(type, 'taskId', record.taskId)
      lsn(type, 'leaseId', record.leaseId)
      break
    case 'TaskDead':
      lsn(type, 'taskId', record.taskId)
      text(type, 'reason', record.reason, 0, reasonBytesMax)
      break
    case 'TasksForgotten':
      lsn(type, 'through', record.through)
      break
    default:
      throw new StateMachineError('STATE_UNKNOWN_RECORD', `${describe(type)} is not a record type`)
  }
  time(type, 'at', record.at)
}

const { queueBytesMax, requestIdBytesMax, reportIdBytesMax, workerIdBytesMax } = recordLimits
const { reasonBytesMax, timeMsMax, retriesMax } = recordLimits
const attemptMax = 2 ** 32 - 1

function checkTaskCreated(record: TaskCreated): void {
  const { type, retryPolicy } = record
  lsn(type, 'taskId', record.taskId)
  bytes(type, 'payload', record.payload)
  whole(type, 'executionWindowMs', record.executionWindowMs, 1, timeMsMax)
  whole(type, 'retryPolicy.maxRetries', retryPolicy?.maxRetries, 0, retriesMax)
  checkBackoff(type, retryPolicy.backoff)
  if (record.queue !== undefined) text(type, 'queue', record.queue, 1, queueBytesMax)
  if (record.notBefore !== undefined) time(type, 'notBefore', record.notBefore)
  if (record.requestId !== undefined)
    text(type, 'requestId', record.requestId, 1, requestIdBytesMax)
}

function checkBackoff(type: string, backoff: Backoff): void {
  if (backoff?.kind === 'fixed') {
    time(type, 'retryPolicy.backoff.delayMs', backoff.delayMs)
  } else if (backoff?.kind === 'exponential') {
    time(type, 'retryPolicy.backoff.initialMs', backoff.initialMs)
    time(type, 'retryPolicy.backoff.maxMs', backoff.maxMs)
  } else {
    throw malformed(type, 'retryPolicy.backoff', backoff, "of kind 'fixed' or 'exponential'")
  }
}

function lsn(type: string, field: string, value: number): void {
  whole(type, field, value, 1, Number.MAX_SAFE_INTEGER)
}

function time(type: string, field: string, value: number): void {
  whole(type, field, value, 0, timeMsMax)
}

function whole(type: string, field: string, value: number, min: number, max: number): void {
  if (isWholeOf(value, min, max)) return
  throw malformed(type, field, value, `a whole number from ${min} to ${max}`)
}

function text(type: string, field: string, value: string, min: number, max: number): void {
  if (isTextOf(value, min, max)) return
  throw malformed(type, field, value, `a well-formed text of ${min} to ${max} bytes`)
}

function bytes(type: string, field: string, value: Uint8Array): void {
  if (value instanceof Uint8Array) return
  throw malformed(type, field, value, 'a Uint8Array')
}

function malformed(type: string, field: string, got: unknown, expected: string): StateMachineError {
  return malformedRecord(`${type}: ${field} is ${describe(got)}; it must be ${expected}`)
}
