import { Packr, Unpackr } from 'msgpackr'
import { StateMachineError } from './errors.js'
import type {
  Backoff,
  LogRecord,
  RecordType,
  TaskCompleted,
  TaskCreated,
  TaskFailed,
} from './record.js'
import { checkShape } from './record-shape.js'

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
const unpackr = new Unpackr({ useRecords: false })

export function encodeRecord(record: LogRecord): Uint8Array {
  checkShape(record)
  return packr.pack(fields(record))
}

export function decodeRecord(bytes: Uint8Array): LogRecord {
  const values = unpack(bytes)
  const record = fromFields(values)
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

// biome-ignore lint/suspicious/noExplicitAny: what was decoded is anything until `checkShape` has seen it.
type Unchecked = any

function unpack(bytes: Uint8Array): Unchecked[] {
  let values: unknown
  try {
    values = unpackr.unpack(bytes)
  } catch (error) {
    throw new StateMachineError('STATE_MALFORMED_RECORD', 'a record is no MessagePack value', {
      cause: error,
    })
  }
  if (!Array.isArray(values)) {
    throw new StateMachineError('STATE_MALFORMED_RECORD', 'a record is no MessagePack array')
  }
  const [version, type] = values
  if (version !== recordVersion) {
    throw new StateMachineError(
      'STATE_UNKNOWN_RECORD',
      `a record of version ${String(version)}; this software reads version ${recordVersion}: use a newer one`,
    )
  }
  if (!Number.isInteger(type) || type < 1 || type >= lengths.length) {
    throw new StateMachineError('STATE_UNKNOWN_RECORD', `a record of unknown type ${String(type)}`)
  }
  if (values.length !== lengths[type]) {
    throw new StateMachineError(
      'STATE_MALFORMED_RECORD',
      `a record of type ${type} has ${values.length} fields instead of ${lengths[type]}`,
    )
  }
  return values
}

function fromFields(values: Unchecked[]): LogRecord {
  const at = values[2]
  switch (values[1]) {
    case typeNumbers.TaskCreated:
      return toTaskCreated(values)
    case typeNumbers.LeaseGranted:
      return {
        type: 'LeaseGranted',
        at,
        taskId: values[3],
        leaseId: values[4],
        workerId: values[5],
        attempt: values[6],
        leaseExpiry: values[7],
      }
    case typeNumbers.LeaseExtended:
      return { type: 'LeaseExtended', at, leaseId: values[3], newLeaseExpiry: values[4] }
    case typeNumbers.LeaseExpired:
      return { type: 'LeaseExpired', at, taskId: values[3], leaseId: values[4], atStart: values[5] }
    case typeNumbers.TaskCompleted:
      return toTaskCompleted(values)
    case typeNumbers.TaskFailed:
      return toTaskFailed(values)
    case typeNumbers.TaskCancelled:
      return { type: 'TaskCancelled', at, taskId: values[3], leaseId: values[4] }
    case typeNumbers.TaskDead:
      return { type: 'TaskDead', at, taskId: values[3], reason: values[4] }
    default:
      return { type: 'TasksForgotten', at, through: values[3] }
  }
}

function toTaskCreated(values: Unchecked[]): TaskCreated {
  const delayMsMax = values[8]
  const backoff: Backoff =
    delayMsMax === null
      ? { kind: 'fixed', delayMs: values[7] }
      : { kind: 'exponential', initialMs: values[7], maxMs: delayMsMax }
  const record: Building<TaskCreated> = {
    type: 'TaskCreated',
    at: values[2],
    taskId: values[3],
    payload: values[4],
    executionWindowMs: values[5],
    retryPolicy: { maxRetries: values[6], backoff },
  }
  if (values[9] !== null) record.queue = values[9]
  if (values[10] !== null) record.notBefore = values[10]
  if (values[11] !== null) record.requestId = values[11]
  return record
}

function toTaskCompleted(values: Unchecked[]): TaskCompleted {
  const record: Building<TaskCompleted> = {
    type: 'TaskCompleted',
    at: values[2],
    taskId: values[3],
    leaseId: values[4],
  }
  if (values[5] !== null) record.reportId = values[5]
  if (values[6] !== null) record.result = values[6]
  return record
}

function toTaskFailed(values: Unchecked[]): TaskFailed {
  const record: Building<TaskFailed> = {
    type: 'TaskFailed',
    at: values[2],
    taskId: values[3],
    leaseId: values[4],
    failureReason: values[5],
  }
  if (values[6] !== null) record.reportId = values[6]
  return record
}

type Building<T> = { -readonly [K in keyof T]: T[K] }
