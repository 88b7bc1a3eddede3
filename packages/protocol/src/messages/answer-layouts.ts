import { messageLimits } from '../limits.js'
import type { Facts, Fields } from '../wire/fields.js'
import { type ListedFields, ListReader } from '../wire/listed-fields.js'
import type {
  Answer,
  AnswerKind,
  Cancelled,
  Committed,
  Extended,
  HistoryFound,
  HistoryRecord,
  Leased,
  Opening,
  Rejected,
  Submitted,
  TasksFound,
  WorkersFound,
} from './answer.js'
import { hot, type Layout, type Mutable, passLsn, rare, type Unnumbered } from './layout.js'
import { type Reason, reasons } from './reasons.js'
import { passCursor } from './request-layouts.js'

const most = Number.MAX_SAFE_INTEGER
const { timeMsMax, queueBytesMax, reasonBytesMax, valuesMax, endpointBytesMax } = messageLimits

/**
 * Answers, each a list of fixed length with nil for absent values. Types start at 65, so that an answer
 * cannot be mistaken for a request:
 *
 *     [65 submitted, id, task_id, known]
 *     [66 leased,    id, task_id, lease_id, attempt, queue, payload, terms]
 *     [67 empty,     id]
 *     [68 extended,  id, terms]
 *     [69 committed, id, state, eligible_at]
 *     [70 cancelled, id, reason, superseded_by]
 *     [71 rejected,  id, reason, message, retry_after, {extras}]
 *     [72 killed,    id, known]
 *     [73 task,      id, {task}]
 *     [74 tasks,     id, [{task}, ...], next_task_id]
 *     [75 workers,   id, [{worker}, ...], left_out]
 *     [76 stats,     id, {stats}]
 *     [77 pong,      id]
 *     [78 withdrawn, id]
 *     [79 why,       id, {why}]
 *     [80 history,   id, first_lsn, [[lsn, record], ...], [[epoch, first_lsn, at], ...], next]
 *     [81 checkpointed, id, {checkpoint}]
 *
 * `terms` are [lease_expiry, window_end, held, lease, window], and `next` is nil or
 * [from_lsn, lease_id, retries_left, ended_lsn].
 */
export const answerLayouts: { readonly [K in AnswerKind]: Layout<Extract<Answer, { kind: K }>> } = {
  submitted: hot('submitted', 65, 4, passSubmitted),
  leased: hot('leased', 66, 8, passLeased),
  empty: hot('empty', 67, 2, (_, id) => ({ kind: 'empty', id })),
  extended: hot('extended', 68, 3, passExtended),
  committed: hot('committed', 69, 4, passCommitted),
  cancelled: hot('cancelled', 70, 4, passCancelled),
  rejected: hot('rejected', 71, 6, passRejected),
  killed: rare('killed', 72, 3, (fields, id, from) => {
    return { kind: 'killed', id, known: fields.boolean('known', from?.known) }
  }),
  task: rare('task', 73, 3, (fields, id, from) => {
    return { kind: 'task', id, task: fields.facts('task', from?.task) }
  }),
  tasks: rare('tasks', 74, 4, passTasks),
  workers: rare('workers', 75, 4, passWorkers),
  stats: rare('stats', 76, 3, (fields, id, from) => {
    return { kind: 'stats', id, stats: fields.facts('stats', from?.stats) }
  }),
  pong: rare('pong', 77, 2, (_, id) => ({ kind: 'pong', id })),
  withdrawn: rare('withdrawn', 78, 2, (_, id) => ({ kind: 'withdrawn', id })),
  why: rare('why', 79, 3, (fields, id, from) => {
    return { kind: 'why', id, why: fields.facts('why', from?.why) }
  }),
  history: rare('history', 80, 6, passHistory),
  checkpointed: rare('checkpointed', 81, 3, (fields, id, from) => {
    return { kind: 'checkpointed', id, checkpoint: fields.facts('checkpoint', from?.checkpoint) }
  }),
}

function passSubmitted(fields: Fields, id: number, from?: Unnumbered<Submitted>): Submitted {
  return {
    kind: 'submitted',
    id,
    taskId: passLsn(fields, 'task_id', from?.taskId),
    known: fields.boolean('known', from?.known),
  }
}

/** Lists each field: a spread takes longer than decoding. */
function passLeased(fields: Fields, id: number, from?: Unnumbered<Leased>): Leased {
  const taskId = passLsn(fields, 'task_id', from?.taskId)
  const leaseId = passLsn(fields, 'lease_id', from?.leaseId)
  const attempt = passLsn(fields, 'attempt', from?.attempt)
  const queue = fields.text('queue', from?.queue, 1, queueBytesMax)
  const payload = fields.bytes('payload', from?.payload)
  const terms = fields.nested('terms', 5)
  return {
    kind: 'leased',
    id,
    taskId,
    leaseId,
    attempt,
    queue,
    payload,
    leaseExpiry: terms.whole('lease_expiry', from?.leaseExpiry, 0, most),
    windowEnd: terms.whole('window_end', from?.windowEnd, 0, most),
    heldMs: terms.whole('held', from?.heldMs, 0, most),
    leaseMs: terms.whole('lease', from?.leaseMs, 0, most),
    windowMs: terms.whole('window', from?.windowMs, 0, most),
  }
}

function passExtended(fields: Fields, id: number, from?: Unnumbered<Extended>): Extended {
  const terms = fields.nested('terms', 5)
  return {
    kind: 'extended',
    id,
    leaseExpiry: terms.whole('lease_expiry', from?.leaseExpiry, 0, most),
    windowEnd: terms.whole('window_end', from?.windowEnd, 0, most),
    heldMs: terms.whole('held', from?.heldMs, 0, most),
    leaseMs: terms.whole('lease', from?.leaseMs, 0, most),
    windowMs: terms.whole('window', from?.windowMs, 0, most),
  }
}

function passCommitted(fields: Fields, id: number, from?: Unnumbered<Committed>): Committed {
  const state = fields.text('state', from?.state, 1, 16)
  const answer: Mutable<Committed> = { kind: 'committed', id, state }
  if (fields.has(from?.eligibleAt))
    answer.eligibleAt = fields.whole('eligible_at', from?.eligibleAt, 0, 2 * timeMsMax)
  return answer
}

function passCancelled(fields: Fields, id: number, from?: Unnumbered<Cancelled>): Cancelled {
  const reason = passReason(fields, from?.reason)
  const answer: Mutable<Cancelled> = { kind: 'cancelled', id, reason }
  if (fields.has(from?.supersededBy))
    answer.supersededBy = passLsn(fields, 'superseded_by', from?.supersededBy)
  return answer
}

function passRejected(fields: Fields, id: number, from?: Unnumbered<Rejected>): Rejected {
  const reason = passReason(fields, from?.reason)
  const message = fields.text('message', from?.message, 0, reasonBytesMax)
  const answer: Mutable<Rejected> = { kind: 'rejected', id, reason, message }
  if (fields.has(from?.retryAfterMs))
    answer.retryAfterMs = fields.whole('retry_after', from?.retryAfterMs, 0, timeMsMax)
  if (fields.has(from?.active)) {
    const { active } = fields.facts('extras', from && { active: from.active })
    if (active !== undefined)
      answer.active = new ListReader([active], 0).text('extras.active', '', 1, endpointBytesMax)
  }
  return answer
}

/** An unknown reason comes from a newer coordinator. */
function passReason(fields: Fields, reason: Reason | undefined): Reason {
  const word = fields.text('reason', reason, 1, 64)
  return Object.hasOwn(reasons, word) ? (word as Reason) : 'INTERNAL'
}

function passTasks(fields: ListedFields, id: number, from?: Unnumbered<TasksFound>): TasksFound {
  const tasks = passMaps(fields, 'tasks', from?.tasks)
  const answer: Mutable<TasksFound> = { kind: 'tasks', id, tasks }
  if (fields.has(from?.nextTaskId))
    answer.nextTaskId = passLsn(fields, 'next_task_id', from?.nextTaskId)
  return answer
}

function passWorkers(
  fields: ListedFields,
  id: number,
  from?: Unnumbered<WorkersFound>,
): WorkersFound {
  return {
    kind: 'workers',
    id,
    workers: passMaps(fields, 'workers', from?.workers),
    leftOut: fields.whole('left_out', from?.leftOut, 0, most),
  }
}

function passMaps(
  fields: ListedFields,
  name: string,
  maps: readonly Facts[] | undefined,
): readonly Facts[] {
  return fields.list(name, maps, 0, valuesMax, (own, map) => own.facts(name, map))
}

function passHistory(fields: Fields, id: number, from?: Unnumbered<HistoryFound>): HistoryFound {
  const answer: Mutable<HistoryFound> = {
    kind: 'history',
    id,
    firstLsn: passLsn(fields, 'first_lsn', from?.firstLsn),
    records: fields.list('records', from?.records, 0, valuesMax, passRecord),
    openings: fields.list('openings', from?.openings, 0, valuesMax, passOpening),
  }
  if (fields.has(from?.next)) answer.next = passCursor(fields.nested('next', 4), from?.next)
  return answer
}

function passRecord(fields: Fields, from: HistoryRecord | undefined): HistoryRecord {
  const own = fields.nested('records', 2)
  return { lsn: passLsn(own, 'lsn', from?.lsn), bytes: own.bytes('record', from?.bytes) }
}

function passOpening(fields: Fields, from: Opening | undefined): Opening {
  const own = fields.nested('openings', 3)
  return {
    epoch: passLsn(own, 'epoch', from?.epoch),
    firstLsn: passLsn(own, 'first_lsn', from?.firstLsn),
    at: own.whole('at', from?.at, 0, most),
  }
}
