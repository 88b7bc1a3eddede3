import type { ValueWriter } from '@tenure/values'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { beginAnswer, endMessage, unpackBody } from '../wire/codec.js'
import { Fields, isMap } from '../wire/fields.js'
import type { Answer, HistoryRecord, LeaseTerms, Opening } from './answer.js'
import { answerKinds, answerTypes } from './answer-types.js'
import { placeFields, readPlace } from './history-place.js'
import { readAnswerQuickly } from './quick-answers.js'
import { type Reason, reasons } from './reasons.js'

export function encodeAnswer(answer: Answer): Buffer {
  const { number, length } = answerTypes[answer.kind]
  const writer = beginAnswer(number, length, answer.id)
  writeFields(writer, answer)
  return endMessage(writer)
}

function writeFields(writer: ValueWriter, answer: Answer): void {
  switch (answer.kind) {
    case 'submitted':
      writer.number(answer.taskId)
      writer.boolean(answer.known)
      break
    case 'leased':
      writer.number(answer.taskId)
      writer.number(answer.leaseId)
      writer.number(answer.attempt)
      writer.text(answer.queue)
      writer.bytes(answer.payload)
      writeTerms(writer, answer)
      break
    case 'extended':
      writeTerms(writer, answer)
      break
    case 'committed':
      writer.text(answer.state)
      writer.value(answer.eligibleAt)
      break
    case 'cancelled':
      writer.text(answer.reason)
      writer.value(answer.supersededBy)
      break
    case 'rejected':
      writer.text(answer.reason)
      writer.text(answer.message)
      writer.value(answer.retryAfterMs)
      break
    case 'killed':
      writer.boolean(answer.known)
      break
    case 'task':
      writer.value(answer.task)
      break
    case 'tasks':
      writer.value(answer.tasks)
      writer.value(answer.nextTaskId)
      break
    case 'workers':
      writer.value(answer.workers)
      writer.number(answer.leftOut)
      break
    case 'stats':
      writer.value(answer.stats)
      break
    case 'why':
      writer.value(answer.why)
      break
    case 'checkpointed':
      writer.value(answer.checkpoint)
      break
    case 'history':
      writer.number(answer.firstLsn)
      writer.value(answer.records.map(({ lsn, bytes }) => [lsn, bytes]))
      writer.value(answer.openings.map(({ epoch, firstLsn, at }) => [epoch, firstLsn, at]))
      writer.value(answer.next && placeFields(answer.next))
      break
    case 'empty':
    case 'pong':
    case 'withdrawn':
  }
}

function writeTerms(writer: ValueWriter, terms: LeaseTerms): void {
  writer.list(5)
  writer.number(terms.leaseExpiry)
  writer.number(terms.windowEnd)
  writer.number(terms.heldMs)
  writer.number(terms.leaseMs)
  writer.number(terms.windowMs)
}

export function decodeAnswer(body: Uint8Array): Answer {
  return readAnswerQuickly(body) ?? readCarefully(body)
}

function readCarefully(body: Uint8Array): Answer {
  const values = unpackBody(body)
  const kind = answerKinds[values[0] as number]
  if (kind === undefined) {
    throw new ProtocolError('PROTOCOL_BAD_MESSAGE', `there is no answer of type ${values[0]}`)
  }
  const { length } = answerTypes[kind]
  if (values.length !== length) {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      `${kind} has ${values.length} fields; it must have ${length}`,
    )
  }
  const fields = new Fields(values, 1)
  const id = fields.whole('id', 0, 0xffff_ffff)
  const { timeMsMax, queueBytesMax } = messageLimits
  switch (kind) {
    case 'submitted':
      return { kind, id, taskId: fields.lsn('task_id'), known: fields.boolean('known') }
    case 'leased':
      return {
        ...{ kind, id, taskId: fields.lsn('task_id'), leaseId: fields.lsn('lease_id') },
        attempt: fields.lsn('attempt'),
        queue: fields.text('queue', 1, queueBytesMax),
        payload: fields.bytes('payload'),
        ...readTerms(fields),
      }
    case 'extended':
      return { kind, id, ...readTerms(fields) }
    case 'committed': {
      const state = fields.text('state', 1, 16)
      const eligibleAt = fields.optional((own) => own.whole('eligible_at', 0, 2 * timeMsMax))
      return { kind, id, state, ...(eligibleAt !== undefined && { eligibleAt }) }
    }
    case 'cancelled': {
      const reason = readReason(fields)
      const supersededBy = fields.optional((own) => own.lsn('superseded_by'))
      return { kind, id, reason, ...(supersededBy !== undefined && { supersededBy }) }
    }
    case 'rejected': {
      const reason = readReason(fields)
      const message = fields.text('message', 0, messageLimits.reasonBytesMax)
      const retryAfterMs = fields.optional((own) => own.whole('retry_after', 0, timeMsMax))
      return { kind, id, reason, message, ...(retryAfterMs !== undefined && { retryAfterMs }) }
    }
    case 'killed':
      return { kind, id, known: fields.boolean('known') }
    case 'task':
      return { kind, id, task: fields.map('task') }
    case 'tasks': {
      const tasks = readMaps(fields, 'tasks')
      const nextTaskId = fields.optional((own) => own.lsn('next_task_id'))
      return { kind, id, tasks, ...(nextTaskId !== undefined && { nextTaskId }) }
    }
    case 'workers': {
      const workers = readMaps(fields, 'workers')
      return { kind, id, workers, leftOut: fields.whole('left_out', 0, Number.MAX_SAFE_INTEGER) }
    }
    case 'stats':
      return { kind, id, stats: fields.map('stats') }
    case 'why':
      return { kind, id, why: fields.map('why') }
    case 'checkpointed':
      return { kind, id, checkpoint: fields.map('checkpoint') }
    case 'history': {
      const firstLsn = fields.lsn('first_lsn')
      const records = readLists(fields, 'records', 2, readRecord)
      const openings = readLists(fields, 'openings', 3, readOpening)
      const next = fields.optional((own) => readPlace(new Fields(own.list('next', 4, 4), 0)))
      return { kind, id, firstLsn, records, openings, ...(next !== undefined && { next }) }
    }
    case 'empty':
    case 'pong':
    case 'withdrawn':
      return { kind, id }
  }
}

function readTerms(fields: Fields): LeaseTerms {
  const own = new Fields(fields.list('terms', 5, 5), 0)
  const time = (name: string) => own.whole(name, 0, Number.MAX_SAFE_INTEGER)
  return {
    leaseExpiry: time('lease_expiry'),
    windowEnd: time('window_end'),
    heldMs: time('held'),
    leaseMs: time('lease'),
    windowMs: time('window'),
  }
}

/** A word that is not known here comes from a newer coordinator. */
function readReason(fields: Fields): Reason {
  const word = fields.text('reason', 1, 64)
  return Object.hasOwn(reasons, word) ? (word as Reason) : 'INTERNAL'
}

function readMaps(fields: Fields, name: string): { readonly [key: string]: unknown }[] {
  const values = fields.list(name, 0, messageLimits.valuesMax)
  return values.map((value) => {
    if (!isMap(value))
      throw new ProtocolError('PROTOCOL_BAD_MESSAGE', `${name} must be a list of maps`)
    return value
  })
}

/** A list of lists, each of that length. */
function readLists<T>(
  fields: Fields,
  name: string,
  length: number,
  read: (fields: Fields) => T,
): T[] {
  const values = fields.list(name, 0, messageLimits.valuesMax)
  const lists = new Fields(values, 0)
  return values.map(() => read(new Fields(lists.list(name, length, length), 0)))
}

function readRecord(fields: Fields): HistoryRecord {
  return { lsn: fields.lsn('lsn'), bytes: fields.bytes('record') }
}

function readOpening(fields: Fields): Opening {
  return {
    epoch: fields.lsn('epoch'),
    firstLsn: fields.lsn('first_lsn'),
    at: fields.whole('at', 0, Number.MAX_SAFE_INTEGER),
  }
}
