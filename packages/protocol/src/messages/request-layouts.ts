import { backoffOf, type RetryPolicy, retryRanges } from '@tenure/options'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import type { Fields } from '../wire/fields.js'
import type { ListedFields } from '../wire/listed-fields.js'
import { hot, type Layout, type Mutable, passLsn, rare, type Unnumbered } from './layout.js'
import {
  type Complete,
  type Fail,
  type Heartbeat,
  type History,
  type HistoryCursor,
  type Kill,
  type Lease,
  type List,
  type RequestKind,
  type RequestOf,
  type Submit,
  taskStates,
  type Withdraw,
} from './request.js'

const { durationMsMax, timeMsMax, queueBytesMax, reasonBytesMax } = messageLimits
const { requestIdBytesMax, reportIdBytesMax, queuesMax, listMax } = messageLimits

/**
 * Requests, each a list of fixed length with nil for absent values:
 *
 *     [ 1 submit,    id, payload, queue, not_before, delay, request_id, execution_window,
 *                        retries: nil or [max_retries, delay, delay_max]]
 *     [ 2 lease,     id, [queue, ...], wait]
 *     [ 3 heartbeat, id, task_id, lease_id]
 *     [ 4 complete,  id, task_id, lease_id, report_id, result]
 *     [ 5 fail,      id, task_id, lease_id, reason, report_id]
 *     [ 6 kill,      id, task_id, reason]
 *     [ 7 get,       id, task_id]
 *     [ 8 list,      id, state, queue, from_task_id, limit]
 *     [ 9 workers,   id]
 *     [10 stats,     id]
 *     [11 ping,      id]
 *     [12 withdraw,  id, of]
 *     [13 why,       id, task_id]
 *     [14 history,   id, task_id, from_lsn, lease_id, retries_left, ended_lsn]
 *     [15 checkpoint, id]
 */
export const requestLayouts: { readonly [K in RequestKind]: Layout<RequestOf<K>> } = {
  submit: hot('submit', 1, 9, passSubmit),
  lease: hot('lease', 2, 4, passLease),
  heartbeat: hot('heartbeat', 3, 4, passHeartbeat),
  complete: hot('complete', 4, 6, passComplete),
  fail: hot('fail', 5, 6, passFail),
  kill: rare('kill', 6, 4, passKill),
  get: rare('get', 7, 3, (fields, id, from) => passTaskId('get', fields, id, from)),
  list: rare('list', 8, 6, passList),
  workers: rare('workers', 9, 2, (_, id) => ({ kind: 'workers', id })),
  stats: rare('stats', 10, 2, (_, id) => ({ kind: 'stats', id })),
  ping: rare('ping', 11, 2, (_, id) => ({ kind: 'ping', id })),
  withdraw: rare('withdraw', 12, 3, passWithdraw),
  why: rare('why', 13, 3, (fields, id, from) => passTaskId('why', fields, id, from)),
  history: rare('history', 14, 7, passHistory),
  checkpoint: rare('checkpoint', 15, 2, (_, id) => ({ kind: 'checkpoint', id })),
}

function passSubmit(fields: Fields, id: number, from?: Unnumbered<Submit>): Submit {
  const payload = fields.bytes('payload', from?.payload)
  const request: Mutable<Submit> = { kind: 'submit', id, payload }
  if (fields.has(from?.queue)) request.queue = passQueue(fields, from?.queue)
  if (fields.has(from?.notBefore))
    request.notBefore = fields.whole('not_before', from?.notBefore, 0, timeMsMax)
  if (fields.has(from?.delayMs))
    request.delayMs = fields.whole('delay', from?.delayMs, 0, durationMsMax)
  if (fields.has(from?.requestId))
    request.requestId = fields.text('request_id', from?.requestId, 1, requestIdBytesMax)
  if (fields.has(from?.executionWindowMs)) {
    const { executionWindowMs } = from ?? {}
    request.executionWindowMs = fields.whole(
      'execution_window',
      executionWindowMs,
      1,
      durationMsMax,
    )
  }
  if (fields.has(from?.retryPolicy)) request.retryPolicy = passRetries(fields, from?.retryPolicy)
  if (from === undefined && request.notBefore !== undefined && request.delayMs !== undefined) {
    throw new ProtocolError('PROTOCOL_BAD_MESSAGE', 'not_before and delay are mutually exclusive')
  }
  return request
}

function passRetries(fields: Fields, from?: RetryPolicy): RetryPolicy {
  const { maxRetries: retries, delayMs: delay } = retryRanges
  const own = fields.nested('retries', 3)
  const given = from?.backoff
  const [first, most] = given?.kind === 'fixed' ? [given.delayMs] : [given?.initialMs, given?.maxMs]
  const maxRetries = own.whole('retries.max_retries', from?.maxRetries, ...retries)
  const delayMs = own.whole('retries.delay', first, ...delay)
  const maxMs = own.has(most) ? own.whole('retries.delay_max', most, ...delay) : undefined
  return { maxRetries, backoff: backoffOf(delayMs, maxMs) }
}

function passLease(fields: Fields, id: number, from?: Unnumbered<Lease>): Lease {
  return {
    kind: 'lease',
    id,
    queues: fields.list('queues', from?.queues, 1, queuesMax, passQueue),
    waitMs: fields.whole('wait', from?.waitMs, 0, durationMsMax),
  }
}

function passHeartbeat(fields: Fields, id: number, from?: Unnumbered<Heartbeat>): Heartbeat {
  return {
    kind: 'heartbeat',
    id,
    taskId: passLsn(fields, 'task_id', from?.taskId),
    leaseId: passLsn(fields, 'lease_id', from?.leaseId),
  }
}

function passComplete(fields: Fields, id: number, from?: Unnumbered<Complete>): Complete {
  const request: Mutable<Complete> = {
    kind: 'complete',
    id,
    taskId: passLsn(fields, 'task_id', from?.taskId),
    leaseId: passLsn(fields, 'lease_id', from?.leaseId),
  }
  if (fields.has(from?.reportId)) request.reportId = passReportId(fields, from?.reportId)
  if (fields.has(from?.result)) request.result = fields.bytes('result', from?.result)
  return request
}

function passFail(fields: Fields, id: number, from?: Unnumbered<Fail>): Fail {
  const request: Mutable<Fail> = {
    kind: 'fail',
    id,
    taskId: passLsn(fields, 'task_id', from?.taskId),
    leaseId: passLsn(fields, 'lease_id', from?.leaseId),
    reason: fields.text('reason', from?.reason, 0, reasonBytesMax),
  }
  if (fields.has(from?.reportId)) request.reportId = passReportId(fields, from?.reportId)
  return request
}

function passKill(fields: Fields, id: number, from?: Unnumbered<Kill>): Kill {
  return {
    kind: 'kill',
    id,
    taskId: passLsn(fields, 'task_id', from?.taskId),
    reason: fields.text('reason', from?.reason, 0, reasonBytesMax),
  }
}

function passTaskId<K extends 'get' | 'why'>(
  kind: K,
  fields: Fields,
  id: number,
  from?: { readonly taskId: number },
): { kind: K; id: number; taskId: number } {
  return { kind, id, taskId: passLsn(fields, 'task_id', from?.taskId) }
}

function passList(fields: ListedFields, id: number, from?: Unnumbered<List>): List {
  const state = fields.has(from?.state) ? fields.word('state', from?.state, taskStates) : undefined
  const queue = fields.has(from?.queue) ? passQueue(fields, from?.queue) : undefined
  const fromTaskId = passLsn(fields, 'from_task_id', from?.fromTaskId)
  const limit = fields.whole('limit', from?.limit, 1, listMax)
  const request: Mutable<List> = { kind: 'list', id, fromTaskId, limit }
  if (state !== undefined) request.state = state
  if (queue !== undefined) request.queue = queue
  return request
}

function passWithdraw(fields: Fields, id: number, from?: Unnumbered<Withdraw>): Withdraw {
  return { kind: 'withdraw', id, of: fields.whole('of', from?.of, 1, 0xffff_ffff) }
}

function passHistory(fields: Fields, id: number, from?: Unnumbered<History>): History {
  const taskId = passLsn(fields, 'task_id', from?.taskId)
  return { kind: 'history', id, taskId, ...passCursor(fields, from) }
}

/** A cursor: from_lsn, lease_id, retries_left, ended_lsn. Requests and answers share it. */
export function passCursor(fields: Fields, from?: HistoryCursor): HistoryCursor {
  const cursor: Mutable<HistoryCursor> = { fromLsn: passLsn(fields, 'from_lsn', from?.fromLsn) }
  if (fields.has(from?.leaseId)) cursor.leaseId = passLsn(fields, 'lease_id', from?.leaseId)
  if (fields.has(from?.retriesLeft))
    cursor.retriesLeft = fields.whole('retries_left', from?.retriesLeft, ...retryRanges.maxRetries)
  if (fields.has(from?.endedLsn)) cursor.endedLsn = passLsn(fields, 'ended_lsn', from?.endedLsn)
  return cursor
}

function passQueue(fields: Fields, queue: string | undefined): string {
  return fields.text('queue', queue, 1, queueBytesMax)
}

function passReportId(fields: Fields, reportId: string | undefined): string {
  return fields.text('report_id', reportId, 1, reportIdBytesMax)
}
