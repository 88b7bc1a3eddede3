import t from 'tap'
import type { NaiveRecord } from '../src/index.js'
import { busyWorld, created, everythingOf, granted, World, windowMs } from './naive-world.js'

const refusals: [rule: string, record: NaiveRecord, lsn?: number][] = [
  ['LSN must follow the last one', created(13, 110), 13],
  ['LSN must follow the last one', created(11, 110), 11],
  ['at must never decrease', created(12, 109)],
  ['task_id must not already exist', created(1, 110)],
  ['task_id must equal the LSN', created(13, 110)],
  ['request_id must not belong to another task', created(12, 110, { requestId: 'taken' })],
  ['task must exist', granted(12, 110, 99)],
  ['task must be in WAITING state', granted(12, 110, 2, { attempt: 2 })],
  ['task must be in WAITING state', granted(12, 110, 4, { attempt: 2 })],
  ['task must be eligible', granted(12, 899, 11)],
  ['attempt must equal previous_attempt + 1', granted(12, 110, 1, { attempt: 2 })],
  ['lease_id must equal the LSN', granted(13, 110, 1)],
  ['lease_expiry must be after at', granted(12, 110, 1, { leaseMs: 0 })],
  [
    'lease_expiry must be within the execution window',
    granted(12, 110, 1, { leaseMs: windowMs + 1 }),
  ],
  ['lease must exist', { type: 'LeaseExtended', at: 110, leaseId: 8, newLeaseExpiry: 300 }],
  [
    'lease must be currently valid',
    { type: 'LeaseExtended', at: 200, leaseId: 3, newLeaseExpiry: 300 },
  ],
  [
    'new expiry must be > current expiry',
    { type: 'LeaseExtended', at: 110, leaseId: 3, newLeaseExpiry: 200 },
  ],
  [
    'new expiry must be within the execution window',
    { type: 'LeaseExtended', at: 110, leaseId: 3, newLeaseExpiry: 100 + windowMs + 1 },
  ],
  ['task must exist', { type: 'LeaseExpired', at: 200, taskId: 99, leaseId: 3, atStart: false }],
  [
    'task must be in LEASED state',
    { type: 'LeaseExpired', at: 200, taskId: 7, leaseId: 8, atStart: false },
  ],
  [
    'lease_id must match current lease',
    { type: 'LeaseExpired', at: 200, taskId: 2, leaseId: 5, atStart: false },
  ],
  [
    'lease must have reached its expiry',
    { type: 'LeaseExpired', at: 199, taskId: 2, leaseId: 3, atStart: false },
  ],
  ['task must exist', { type: 'TaskCompleted', at: 110, taskId: 99, leaseId: 3 }],
  ['task must be in LEASED state', { type: 'TaskCompleted', at: 110, taskId: 4, leaseId: 5 }],
  ['lease_id must match current lease', { type: 'TaskCompleted', at: 110, taskId: 2, leaseId: 5 }],
  ['lease must not be expired', { type: 'TaskCompleted', at: 200, taskId: 2, leaseId: 3 }],
  [
    'lease must not be expired',
    { type: 'TaskFailed', at: 200, taskId: 2, leaseId: 3, failureReason: 'late' },
  ],
  ['task must exist', { type: 'TaskCancelled', at: 110, taskId: 99, leaseId: 3 }],
  [
    'lease must have been granted for the task',
    { type: 'TaskCancelled', at: 110, taskId: 1, leaseId: 8 },
  ],
  ['lease must have lost its authority', { type: 'TaskCancelled', at: 110, taskId: 2, leaseId: 3 }],
  ['lease must have lost its authority', { type: 'TaskCancelled', at: 110, taskId: 4, leaseId: 5 }],
  [
    'lease must not have been cancelled before',
    { type: 'TaskCancelled', at: 110, taskId: 7, leaseId: 8 },
  ],
  ['task must exist', { type: 'TaskDead', at: 110, taskId: 99, reason: 'stopped' }],
  ['task must not be terminal', { type: 'TaskDead', at: 110, taskId: 4, reason: 'stopped' }],
  ['through must lie before the record', { type: 'TasksForgotten', at: 110, through: 12 }],
]

t.test('a record that breaks a rule is rejected with that rule and changes nothing', async (t) => {
  for (const [rule, record, lsn = 12] of refusals) {
    const { model } = busyWorld()
    const before = everythingOf(model)
    t.equal(model.apply(lsn, record), rule, `${record.type}: ${rule}`)
    t.strictSame(everythingOf(model), before)
  }
})

t.test('the first of several broken rules is returned', async (t) => {
  const { model } = busyWorld()
  t.equal(model.apply(13, created(1, 0)), 'LSN must follow the last one')
  t.equal(model.apply(12, created(1, 0)), 'at must never decrease')
  t.equal(
    model.apply(12, created(1, 110, { requestId: 'taken' })),
    'task_id must not already exist',
  )
  t.equal(
    model.apply(12, granted(13, 110, 2, { attempt: 9, leaseMs: 0 })),
    'task must be in WAITING state',
  )
})

t.test('records exactly at the limits of the rules are valid', async (t) => {
  const world = new World()
  const task = world.create(0, { notBefore: 5 })
  const lease = world.grant(5, task, windowMs - 1)
  world.extend(5, lease, 5 + windowMs)
  world.expire(5 + windowMs, task, lease)
  const lastMoment = world.grant(5 + windowMs, task, windowMs)
  const end = world.complete(4 + 2 * windowMs, task, lastMoment)
  world.forget(4 + 2 * windowMs, end)
  t.strictSame(world.model.tasks(), [])
})
