import { messageLimits } from '../limits.js'
import { QuickReader } from './quick-reader.js'
import type { Complete, Fail, Lease, Request, Submit } from './request.js'
import { requestTypes } from './request-types.js'

const reader = new QuickReader()

/**
 * Reads the requests that come all the time, when they are as our own clients write them: each value
 * in its shortest form, nothing out of bounds, and of a submission only what most have. Whatever is
 * otherwise is `undefined` here and to be read carefully: it may be fine in another spelling, or it
 * has to be refused with the reason. What is taken here means the same there.
 */
export function readQuickly(body: Uint8Array): Request | undefined {
  return reader.attempt(body, readRequest)
}

function readRequest(): Request | undefined {
  const length = reader.list()
  const number = reader.whole()
  return readFields(number, length, reader.wholeOf(1, 0xffff_ffff))
}

function readFields(number: number, length: number, id: number): Request | undefined {
  switch (number) {
    case requestTypes.submit.number:
      return length === requestTypes.submit.length ? readSubmit(id) : undefined
    case requestTypes.lease.number:
      return length === requestTypes.lease.length ? readLease(id) : undefined
    case requestTypes.heartbeat.number:
      if (length !== requestTypes.heartbeat.length) return undefined
      return { kind: 'heartbeat', id, taskId: reader.lsn(), leaseId: reader.lsn() }
    case requestTypes.complete.number:
      return length === requestTypes.complete.length ? readComplete(id) : undefined
    case requestTypes.fail.number:
      return length === requestTypes.fail.length ? readFail(id) : undefined
    default:
      return undefined
  }
}

function readSubmit(id: number): Submit | undefined {
  const request: Building<Submit> = { kind: 'submit', id, payload: Buffer.from(reader.bytes()) }
  if (!reader.takeNil()) request.queue = reader.textOf(1, messageLimits.queueBytesMax)
  const isAtOnce = reader.takeNil() && reader.takeNil()
  if (!isAtOnce) return undefined
  if (!reader.takeNil()) request.requestId = reader.textOf(1, messageLimits.requestIdBytesMax)
  const isByDefault = reader.takeNil() && reader.takeNil()
  return isByDefault ? request : undefined
}

function readLease(id: number): Lease | undefined {
  const { queuesMax, queueBytesMax, durationMsMax } = messageLimits
  const count = reader.list()
  if (count < 1 || count > queuesMax) return undefined
  const queues: string[] = []
  while (queues.length < count) queues.push(reader.textOf(1, queueBytesMax))
  return { kind: 'lease', id, queues, waitMs: reader.wholeOf(0, durationMsMax) }
}

function readComplete(id: number): Complete {
  const taskId = reader.lsn()
  const request: Building<Complete> = { kind: 'complete', id, taskId, leaseId: reader.lsn() }
  if (!reader.takeNil()) request.reportId = reader.textOf(1, messageLimits.reportIdBytesMax)
  if (!reader.takeNil()) request.result = Buffer.from(reader.bytes())
  return request
}

function readFail(id: number): Fail {
  const taskId = reader.lsn()
  const leaseId = reader.lsn()
  const reason = reader.textOf(0, messageLimits.reasonBytesMax)
  const request: Building<Fail> = { kind: 'fail', id, taskId, leaseId, reason }
  if (!reader.takeNil()) request.reportId = reader.textOf(1, messageLimits.reportIdBytesMax)
  return request
}

type Building<T> = { -readonly [K in keyof T]: T[K] }
