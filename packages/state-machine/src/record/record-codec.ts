import { type Backoff, backoffOf } from '@tenure/options'
import { Unreadable, ValueReader, ValueWriter } from '@tenure/values'
import { malformedRecord, StateMachineError } from '../errors.js'
import type { LogRecord, RecordType, TaskCompleted, TaskCreated, TaskFailed } from '../record.js'
import { checkShape } from './record-shape.js'

/**
 * The encoding of a record: one MessagePack array of fixed length, with `nil` for an absent field.
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
 * Times and durations are milliseconds. `backoff` alone is a fixed delay. With `backoff_max` it is the
 * first delay of an exponential one. An unknown version or type is an error, never skipped.
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

/** Length of the array, by type number. */
const lengths = [0, 12, 8, 5, 6, 7, 7, 5, 5, 4]

const writer = new ValueWriter()
const reader = new ValueReader()

export function encodeRecord(record: LogRecord): Uint8Array {
  checkShape(record)
  const type = typeNumbers[record.type]
  writer.begin()
  writer.list(lengths[type]!)
  writer.number(recordVersion)
  writer.number(type)
  writer.number(record.at)
  writeFields(record)
  return writer.end()
}

/** Decodes exactly the bytes that `encodeRecord` writes. Payload and result are views on them. */
export function decodeRecord(bytes: Uint8Array): LogRecord {
  const record = readRecord(bytes)
  checkShape(record)
  return record
}

function writeFields(record: LogRecord): void {
  switch (record.type) {
    case 'TaskCreated':
      writeTaskCreated(record)
      break
    case 'LeaseGranted':
      writer.number(record.taskId)
      writer.number(record.leaseId)
      writer.text(record.workerId)
      writer.number(record.attempt)
      writer.number(record.leaseExpiry)
      break
    case 'LeaseExtended':
      writer.number(record.leaseId)
      writer.number(record.newLeaseExpiry)
      break
    case 'LeaseExpired':
      writer.number(record.taskId)
      writer.number(record.leaseId)
      writer.boolean(record.atStart)
      break
    case 'TaskCompleted':
      writer.number(record.taskId)
      writer.number(record.leaseId)
      writer.value(record.reportId ?? null)
      writer.value(record.result ?? null)
      break
    case 'TaskFailed':
      writer.number(record.taskId)
      writer.number(record.leaseId)
      writer.text(record.failureReason)
      writer.value(record.reportId ?? null)
      break
    case 'TaskCancelled':
      writer.number(record.taskId)
      writer.number(record.leaseId)
      break
    case 'TaskDead':
      writer.number(record.taskId)
      writer.text(record.reason)
      break
    case 'TasksForgotten':
      writer.number(record.through)
  }
}

function writeTaskCreated(record: TaskCreated): void {
  const { maxRetries, backoff } = record.retryPolicy
  writer.number(record.taskId)
  writer.bytes(record.payload)
  writer.number(record.executionWindowMs)
  writer.number(maxRetries)
  if (backoff.kind === 'fixed') {
    writer.number(backoff.delayMs)
    writer.nil()
  } else {
    writer.number(backoff.initialMs)
    writer.number(backoff.maxMs)
  }
  writer.value(record.queue ?? null)
  writer.value(record.notBefore ?? null)
  writer.value(record.requestId ?? null)
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
    throw malformedRecord(`the record cannot be decoded: ${error.message}`, { cause: error })
  }
}

/** Reads version and type, and checks the length of the array. */
function readType(): number {
  const length = reader.list()
  if (length < 2) throw new Unreadable('it has no version and type')
  const version = reader.whole()
  if (version !== recordVersion) {
    throw new StateMachineError(
      'STATE_UNKNOWN_RECORD',
      `the record has version ${version}; this release reads version ${recordVersion}. ${newerRelease}`,
    )
  }
  const type = reader.whole()
  if (type < 1 || type >= lengths.length) {
    throw new StateMachineError(
      'STATE_UNKNOWN_RECORD',
      `the record has the unknown type ${type}. ${newerRelease}`,
    )
  }
  if (length !== lengths[type]) {
    throw new Unreadable(`type ${type} has ${lengths[type]} fields, not ${length}`)
  }
  return type
}

/** The fields are read in the order of this code, which is that of the table above. */
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
  return backoffOf(delayMs, reader.takeNil() ? undefined : reader.whole())
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

const newerRelease = 'Use the release that wrote it, or a newer one'
