import type { HistoryFound } from '@tenure/protocol'
import { encodeRecord, type LogRecord } from '@tenure/state-machine'
import t from 'tap'
import { agreesHistory } from '../src/checks/task-history.js'

const retryPolicy = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 0 } } as const

function created(taskId: number): LogRecord {
  const payload = new Uint8Array(3)
  return { type: 'TaskCreated', at: taskId, taskId, payload, executionWindowMs: 1000, retryPolicy }
}

function granted(leaseId: number, taskId: number, attempt = 1): LogRecord {
  const lease = { workerId: 'worker', attempt, leaseExpiry: 500 }
  return { type: 'LeaseGranted', at: leaseId, taskId, leaseId, ...lease }
}

function extended(leaseId: number): LogRecord {
  return { type: 'LeaseExtended', at: 4, leaseId, newLeaseExpiry: 600 }
}

function failed(taskId: number, leaseId: number): LogRecord {
  return { type: 'TaskFailed', at: 6, taskId, leaseId, failureReason: 'as planned' }
}

const records: readonly LogRecord[] = [
  created(1),
  created(2),
  granted(3, 1),
  extended(3),
  granted(5, 2),
  failed(1, 3),
  extended(5),
  // No task has ended up to here, so this concerns neither.
  { type: 'TasksForgotten', at: 8, through: 7 },
  granted(9, 1, 2),
  failed(1, 9),
  { type: 'TasksForgotten', at: 11, through: 10 },
  { type: 'TasksForgotten', at: 12, through: 11 },
]
const ofTask1 = [1, 3, 4, 6, 9, 10, 11]

interface Asked {
  readonly fromLsn?: number
  readonly firstLsn?: number
  readonly lastLsn?: number
  readonly coveredLsn?: number
  readonly next?: number
}

function agrees(lsns: readonly number[], asked: Asked = {}, log = records): boolean {
  const { fromLsn = 1, firstLsn = 1, lastLsn = 12, coveredLsn = 0, next } = asked
  const found = lsns.map((lsn) => ({ lsn, bytes: encodeRecord(log[lsn - 1]!) }))
  const whole: HistoryFound = { kind: 'history', id: 7, firstLsn, records: found, openings: [] }
  const page = next === undefined ? whole : { ...whole, next: { fromLsn: next } }
  const request = { kind: 'history', id: 7, taskId: 1, fromLsn } as const
  return agreesHistory(request, page, { lastLsn, coveredLsn }, records)
}

t.test('a page holds every record about its task', async (t) => {
  t.ok(agrees(ofTask1))
  for (const left of ofTask1)
    t.notOk(agrees(ofTask1.filter((lsn) => lsn !== left)), `without ${left}`)
  t.notOk(agrees([]), 'none of them')
})

t.test('a page holds nothing else, in order', async (t) => {
  for (const other of [2, 5, 7, 8, 12]) {
    const lsns = [...ofTask1, other].sort((a, b) => a - b)
    t.notOk(agrees(lsns), `with ${other}`)
  }
  t.notOk(agrees([1, 4, 3, 6, 9, 10, 11]), 'wrong order')
  t.notOk(agrees([1, 1, 3, 4, 6, 9, 10, 11]), 'a repeated record')
  const others = records.map((record) => (record.at === 6 ? { ...record, at: 7 } : record))
  t.notOk(agrees(ofTask1, {}, others), 'a record that was never written')
})

t.test('a page ends where the log ended at the time of the request', async (t) => {
  t.ok(agrees([1, 3, 4, 6], { lastLsn: 8 }))
  t.notOk(agrees([1, 3, 4, 6], { lastLsn: 9 }))
  t.notOk(agrees([1, 3, 4, 6, 9], { lastLsn: 8 }))
})

t.test('a page ends where the next page starts', async (t) => {
  t.ok(agrees([1, 3, 4], { next: 6 }))
  t.ok(agrees([6, 9, 10, 11], { fromLsn: 6 }))
  t.notOk(agrees([1, 3], { next: 6 }))
  t.notOk(agrees([6, 9, 10, 11], { fromLsn: 4 }))
  t.notOk(agrees([], { fromLsn: 7, next: 9 }), 'a page that starts after some record')
  t.notOk(agrees([1, 3, 4, 6], { lastLsn: 8, next: 9 }), 'the record is already in the log')
})

t.test(
  'a page lacks the records removed by a checkpoint, and may lack those that need them',
  async (t) => {
    const removed = { firstLsn: 4, coveredLsn: 8 }
    t.ok(agrees([4, 6, 9, 10, 11], removed))
    t.ok(agrees([6, 9, 10], removed), 'the owner of the lease, and the order of failures')
    t.notOk(agrees([6, 10, 11], removed))
    t.notOk(agrees([6, 9, 10], { ...removed, coveredLsn: 2 }), 'no checkpoint covers these')
  },
)
