import { backoffOf, type RetryPolicy, retryRanges } from '@tenure/options'
import type { ValueWriter } from '@tenure/values'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { beginRequest, endMessage, unpackBody } from '../wire/codec.js'
import { Fields } from '../wire/fields.js'
import { placeFields, readPlace } from './history-place.js'
import { readQuickly } from './quick-requests.js'
import { type NewRequest, type Request, type Submit, taskStates } from './request.js'
import { requestKinds, requestTypes } from './request-types.js'

/** Under the id that it has, or under the one that is given with it. */
export function encodeRequest(request: Request): Buffer
export function encodeRequest(request: NewRequest, id: number): Buffer
export function encodeRequest(request: Request | NewRequest, id = (request as Request).id): Buffer {
  const { number, length } = requestTypes[request.kind]
  const writer = beginRequest(number, length, id)
  writeFields(writer, request)
  return endMessage(writer)
}

/** A request whose id could be read and that is malformed all the same: it can be answered. */
export interface MalformedRequest {
  readonly kind: 'malformed'
  readonly id: number
  readonly message: string
}

export function decodeRequest(body: Uint8Array): Request | MalformedRequest {
  return readQuickly(body) ?? readCarefully(body)
}

function readCarefully(body: Uint8Array): Request | MalformedRequest {
  const values = unpackBody(body)
  const [number, id] = values
  if (!Number.isInteger(id) || (id as number) < 1 || (id as number) > 0xffff_ffff) {
    throw new ProtocolError('PROTOCOL_BAD_MESSAGE', 'a request without an id from 1 to 2^32 - 1')
  }
  try {
    return fromValues(number as number, id as number, values)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    return { kind: 'malformed', id: id as number, message: error.message }
  }
}

function writeFields(writer: ValueWriter, request: Request | NewRequest): void {
  switch (request.kind) {
    case 'submit':
      writer.value(request.payload)
      writer.value(request.queue)
      writer.value(request.notBefore)
      writer.value(request.delayMs)
      writer.value(request.requestId)
      writer.value(request.executionWindowMs)
      writer.value(retries(request.retryPolicy))
      break
    case 'lease':
      writer.value(request.queues)
      writer.number(request.waitMs)
      break
    case 'heartbeat':
      writer.number(request.taskId)
      writer.number(request.leaseId)
      break
    case 'complete':
      writer.number(request.taskId)
      writer.number(request.leaseId)
      writer.value(request.reportId)
      writer.value(request.result)
      break
    case 'fail':
      writer.number(request.taskId)
      writer.number(request.leaseId)
      writer.value(request.reason)
      writer.value(request.reportId)
      break
    case 'kill':
      writer.number(request.taskId)
      writer.value(request.reason)
      break
    case 'get':
    case 'why':
      writer.number(request.taskId)
      break
    case 'list':
      writer.value(request.state)
      writer.value(request.queue)
      writer.number(request.fromTaskId)
      writer.number(request.limit)
      break
    case 'withdraw':
      writer.number(request.of)
      break
    case 'history':
      writer.number(request.taskId)
      for (const field of placeFields(request)) writer.value(field)
      break
    case 'workers':
    case 'stats':
    case 'ping':
    case 'checkpoint':
  }
}

function retries(policy: RetryPolicy | undefined): readonly unknown[] | null {
  if (policy === undefined) return null
  const { maxRetries, backoff } = policy
  if (backoff.kind === 'fixed') return [maxRetries, backoff.delayMs, null]
  return [maxRetries, backoff.initialMs, backoff.maxMs]
}

function fromValues(number: number, id: number, values: readonly unknown[]): Request {
  const kind = requestKinds[number]
  if (kind === undefined)
    throw new ProtocolError('PROTOCOL_BAD_MESSAGE', `there is no request of type ${number}`)
  const { length } = requestTypes[kind]
  if (values.length !== length) {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      `${kind} has ${values.length} fields; it must have ${length}`,
    )
  }
  const fields = new Fields(values, 2)
  const { listMax, reasonBytesMax, durationMsMax } = messageLimits
  switch (kind) {
    case 'submit':
      return readSubmit(id, fields)
    case 'lease':
      return {
        kind,
        id,
        queues: readQueues(fields),
        waitMs: fields.whole('wait', 0, durationMsMax),
      }
    case 'heartbeat':
      return { kind, id, taskId: fields.lsn('task_id'), leaseId: fields.lsn('lease_id') }
    case 'complete': {
      const request = { kind, id, taskId: fields.lsn('task_id'), leaseId: fields.lsn('lease_id') }
      const reportId = fields.optional(readReportId)
      const result = fields.optional((own) => own.bytes('result'))
      return { ...request, ...(reportId !== undefined && { reportId }), ...(result && { result }) }
    }
    case 'fail': {
      const request = {
        kind,
        id,
        taskId: fields.lsn('task_id'),
        leaseId: fields.lsn('lease_id'),
        reason: fields.text('reason', 0, reasonBytesMax),
      }
      const reportId = fields.optional(readReportId)
      return reportId === undefined ? request : { ...request, reportId }
    }
    case 'kill':
      return {
        kind,
        id,
        taskId: fields.lsn('task_id'),
        reason: fields.text('reason', 0, reasonBytesMax),
      }
    case 'get':
    case 'why':
      return { kind, id, taskId: fields.lsn('task_id') }
    case 'list': {
      const state = fields.optional((own) => own.word('state', taskStates))
      const queue = fields.optional(readQueue)
      const from = {
        fromTaskId: fields.lsn('from_task_id'),
        limit: fields.whole('limit', 1, listMax),
      }
      return {
        kind,
        id,
        ...(state !== undefined && { state }),
        ...(queue !== undefined && { queue }),
        ...from,
      }
    }
    case 'workers':
    case 'stats':
    case 'ping':
    case 'checkpoint':
      return { kind, id }
    case 'withdraw':
      return { kind, id, of: fields.whole('of', 1, 0xffff_ffff) }
    case 'history':
      return { kind, id, taskId: fields.lsn('task_id'), ...readPlace(fields) }
  }
}

function readSubmit(id: number, fields: Fields): Submit {
  const { requestIdBytesMax, durationMsMax, timeMsMax } = messageLimits
  const payload = fields.bytes('payload')
  const queue = fields.optional(readQueue)
  const notBefore = fields.optional((own) => own.whole('not_before', 0, timeMsMax))
  const delayMs = fields.optional((own) => own.whole('delay', 0, durationMsMax))
  const requestId = fields.optional((own) => own.text('request_id', 1, requestIdBytesMax))
  const executionWindowMs = fields.optional((own) =>
    own.whole('execution_window', 1, durationMsMax),
  )
  const retryPolicy = fields.optional(readRetryPolicy)
  if (notBefore !== undefined && delayMs !== undefined) {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      'not_before and delay are both there; give one of them',
    )
  }
  return {
    kind: 'submit',
    id,
    payload,
    ...(queue !== undefined && { queue }),
    ...(notBefore !== undefined && { notBefore }),
    ...(delayMs !== undefined && { delayMs }),
    ...(requestId !== undefined && { requestId }),
    ...(executionWindowMs !== undefined && { executionWindowMs }),
    ...(retryPolicy !== undefined && { retryPolicy }),
  }
}

function readRetryPolicy(fields: Fields): RetryPolicy {
  const { maxRetries: retries, delayMs: delay } = retryRanges
  const own = new Fields(fields.list('retries', 3, 3), 0)
  const maxRetries = own.whole('retries.max_retries', ...retries)
  const delayMs = own.whole('retries.delay', ...delay)
  const maxMs = own.optional((fields) => fields.whole('retries.delay_max', ...delay))
  return { maxRetries, backoff: backoffOf(delayMs, maxMs) }
}

function readQueues(fields: Fields): string[] {
  const queues = fields.list('queues', 1, messageLimits.queuesMax)
  const own = new Fields(queues, 0)
  return queues.map(() => readQueue(own))
}

function readQueue(fields: Fields): string {
  return fields.text('queue', 1, messageLimits.queueBytesMax)
}

function readReportId(fields: Fields): string {
  return fields.text('report_id', 1, messageLimits.reportIdBytesMax)
}
