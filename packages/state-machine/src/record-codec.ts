import { Packr } from 'msgpackr'
import { malformedRecord, StateMachineError } from './errors.js'
import type {
  Backoff,
  LogRecord,
  RecordType,
  TaskCompleted,
  TaskCreated,
  TaskFailed,
} from './record.js'
import { checkShape } from './record-shape.js'
import { Unreadable, ValueReader } from './value-reader.js'

/**
 * A record as bytes: one MessagePack array of fixed length, `nil` where an optional field is absent.
 *
 *     [version, 1 TaskCreated,    at, task_id, payload, execution_window,
 *                                 max_retries, backoff, backoff_max, queue, not_before, request_id]
 *     [version, 2 LeaseGranted,   at, task_id, lease_id, worker_id, attempt, lease_expiry]
 *     [version, 3 LeaseExtended,  at, lease_id, new_lease_expiry]
 *     [version, 4 LeaseExpired,   at, task_id, lease_id, at_start]
 *     [version, 5 TaskCompleted,  at, task_id, lease_id, report_id, result]
 *     [version, 6 TaskFailed,     at, task_id, lease_id, failure_reason, report_id]
 *     [version, 7 TaskCancelled,  at, task_id, lease_id]
 *     [version, 8 TaskDead,       at, task_id, reason]
 *     [version, 9 TasksForgotten, at, through]
 *
 * Times and durations are milliseconds. `backoff` alone is a fixed delay; with `backoff_max` it is
 * the first of an exponential one. What has another version or type is refused, never skipped.
 */
export const recordVersion = 1

const typeNumbers = {
  TaskCreated: 1,
  LeaseGranted: 2,
  LeaseExtended: 3,
  LeaseExpired: 4,
  TaskCompleted: 5,
  TaskFailed: 6,
  TaskCancelled: 7,
  TaskDead: 8,
  TasksForgotten: 9,
} as const satisfies { [T in RecordType]: number }

/** Length of the array, by number of the type. */
const lengths = [0, 12, 8, 5, 6, 7, 7, 5, 5, 4]

const packr = new Packr({ useRecords: false })
const reader = new ValueReader()

export function encodeRecord(record: LogRecord): Uint8Array {
  checkShape(record)
  return packr.pack(fields(record))
}

/** Takes exactly the bytes that `encodeRecord` writes. Payload and result are views on them. */
export function decodeRecord(bytes: Uint8Array): LogRecord {
  const record = readRecord(bytes)
  checkShape(record)
  return record
}

function fields(record: LogRecord): unknown[] {
  const type = typeNumbers[record.type]
  switch (record.type) {
    case 'TaskCreated':
      return taskCreatedFields(record)
    case 'LeaseGranted': {
      const { at, taskId, leaseId, workerId, attempt, leaseExpiry } = record
      return [recordVersion, type, at, taskId, leaseId, workerId, attempt, leaseExpiry]
    }
    case 'LeaseExtended':
      return [recordVersion, type, record.at, record.leaseId, record.newLeaseExpiry]
    case 'LeaseExpired':
      return [recordVersion, type, record.at, record.taskId, record.leaseId, record.atStart]
    case 'TaskCompleted': {
      const { at, taskId, leaseId, reportId = null, result = null } = record
      return [recordVersion, type, at, taskId, leaseId, reportId, result]
    }
    case 'TaskFailed': {
      const { at, taskId, leaseId, failureReason, reportId = null } = record
      return [recordVersion, type, at, taskId, leaseId, failureReason, reportId]
    }
    case 'TaskCancelled':
      return [recordVersion, type, record.at, record.taskId, record.leaseId]
    case 'TaskDead':
      return [recordVersion, type, record.at, record.taskId, record.reason]
    case 'TasksForgotten':
      return [recordVersion, type, record.at, record.through]
  }
}

function taskCreatedFields(record: TaskCreated): unknown[] {
  const { at, taskId, payload, executionWindowMs, retryPolicy } = record
  const { queue = null, notBefore = null, requestId = null } = record
  const { maxRetries, backoff } = retryPolicy
  const delayMs = backoff.kind === 'fixed' ? backoff.delayMs : backoff.initialMs
  const delayMsMax = backoff.kind === 'fixed' ? null : backoff.maxMs
  const fields: unknown[] = [recordVersion, typeNumbers.TaskCreated, at, taskId, payload]
  fields.push(executionWindowMs, maxRetries, delayMs, delayMsMax, queue, notBefore, requestId)
  return fields
}

function readRecord(bytes: Uint8Array): LogRecord {
  try {
    reader.begin(bytes)
    const type = readType()
    const record = readFields(type, reader.whole())
    reader.requireEnd()
    return record
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    throw malformedRecord(`a record cannot be read: ${error.message}`, { cause: error })
  }
}

/** Reads version and type, and holds the length of the array against them. */
function readType(): number {
  const length = reader.list()
  if (length < 2) throw new Unreadable('it has no version and type')
  const version = reader.whole()
  if (version !== recordVersion) {
    throw new StateMachineError(
      'STATE_UNKNOWN_RECORD',
      `a record of version ${version}; this software reads version ${recordVersion}: use a newer one`,
    )
  }
  const type = reader.whole()
  if (type < 1 || type >= lengths.length) {
    throw new StateMachineError('STATE_UNKNOWN_RECORD', `a record of unknown type ${type}`)
  }
  if (length !== lengths[type]) {
    throw new Unreadable(`type ${type} has ${lengths[type]} fields, not ${length}`)
  }
  return type
}

/** Fields are read in the order in which they are written here: that of the table above. */
function readFields(type: number, at: number): LogRecord {
  switch (type) {
    case typeNumbers.TaskCreated:
      return readTaskCreated(at)
    case typeNumbers.LeaseGranted:
      return {
        type: 'LeaseGranted',
        at,
        taskId: reader.whole(),
        leaseId: reader.whole(),
        workerId: reader.text(),
        attempt: reader.whole(),
        leaseExpiry: reader.whole(),
      }
    case typeNumbers.LeaseExtended:
      return {
        type: 'LeaseExtended',
        at,
        leaseId: reader.whole(),
        newLeaseExpiry: reader.whole(),
      }
    case typeNumbers.LeaseExpired:
      return {
        type: 'LeaseExpired',
        at,
        taskId: reader.whole(),
        leaseId: reader.whole(),
        atStart: reader.boolean(),
      }
    case typeNumbers.TaskCompleted:
      return readTaskCompleted(at)
    case typeNumbers.TaskFailed:
      return readTaskFailed(at)
    case typeNumbers.TaskCancelled:
      return { type: 'TaskCancelled', at, taskId: reader.whole(), leaseId: reader.whole() }
    case typeNumbers.TaskDead:
      return { type: 'TaskDead', at, taskId: reader.whole(), reason: reader.text() }
    default:
      return { type: 'TasksForgotten', at, through: reader.whole() }
  }
}

function readTaskCreated(at: number): TaskCreated {
  const record: Building<TaskCreated> = {
    type: 'TaskCreated',
    at,
    taskId: reader.whole(),
    payload: reader.bytes(),
    executionWindowMs: reader.whole(),
    retryPolicy: { maxRetries: reader.whole(), backoff: readBackoff() },
  }
  if (!reader.takeNil()) record.queue = reader.text()
  if (!reader.takeNil()) record.notBefore = reader.whole()
  if (!reader.takeNil()) record.requestId = reader.text()
  return record
}

function readBackoff(): Backoff {
  const delayMs = reader.whole()
  if (reader.takeNil()) return { kind: 'fixed', delayMs }
  return { kind: 'exponential', initialMs: delayMs, maxMs: reader.whole() }
}

function readTaskCompleted(at: number): TaskCompleted {
  const record: Building<TaskCompleted> = {
    type: 'TaskCompleted',
    at,
    taskId: reader.whole(),
    leaseId: reader.whole(),
  }
  if (!reader.takeNil()) record.reportId = reader.text()
  if (!reader.takeNil()) record.result = reader.bytes()
  return record
}

function readTaskFailed(at: number): TaskFailed {
  const record: Building<TaskFailed> = {
    type: 'TaskFailed',
    at,
    taskId: reader.whole(),
    leaseId: reader.whole(),
    failureReason: reader.text(),
  }
  if (!reader.takeNil()) record.reportId = reader.text()
  return record
}

type Building<T> = { -readonly [K in keyof T]: T[K] }
