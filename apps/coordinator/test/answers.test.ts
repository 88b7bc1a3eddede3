// Runs alone: its tests share one coordinator.
import type { NewRequest } from '@tenure/client'
import { encodeRequest, type Reason } from '@tenure/protocol'
import t, { type Test } from 'tap'
import { expect, leaseFrom } from './links.js'
import { RawPeer } from './raw-peer.js'
import { essence, type Held, Stage, type SubmitOptions } from './stage.js'

// The table of semantics §6, row by row, and the rules below it: the answer and the written
// records.

const kinds = ['complete', 'fail'] as const
type Kind = (typeof kinds)[number]

const stage = await Stage.open(t)
const { w1, w2 } = stage

function reportOf(kind: Kind, { taskId, leaseId }: Held, reportId?: string) {
  const report = { taskId, leaseId, reportId }
  return kind === 'complete' ? { kind, ...report } : { kind, ...report, reason: 'no' }
}

function beatOf({ taskId, leaseId }: Held) {
  return { kind: 'heartbeat', taskId, leaseId } as const
}

function retries(maxRetries: number, delayMs = 0): SubmitOptions {
  return { retryPolicy: { maxRetries, backoff: { kind: 'fixed', delayMs } } }
}

const rejected = (reason: Reason) => ({ kind: 'rejected', reason })
const nothing = { written: [] }

interface Row {
  readonly found: string
  readonly arrange: () => Promise<Held>
  readonly answer: object
  readonly beat: Reason
}

const refused: Row[] = [
  {
    found: 'the task never existed',
    arrange: async () => ({ taskId: 1_000_000, leaseId: 1_000_001 }),
    answer: rejected('UNKNOWN_TASK'),
    beat: 'UNKNOWN_TASK',
  },
  {
    found: 'that lease was never granted',
    arrange: async () => ({ ...(await stage.lease()), leaseId: 1_000_000 }),
    answer: rejected('UNKNOWN_LEASE'),
    beat: 'UNKNOWN_LEASE',
  },
  {
    found: 'that lease was granted for another task',
    arrange: async () => ({ ...(await stage.lease()), leaseId: (await stage.lease()).leaseId }),
    answer: rejected('UNKNOWN_LEASE'),
    beat: 'UNKNOWN_LEASE',
  },
  {
    found: 'the lease belongs to another worker',
    arrange: () => stage.lease({}, w2),
    answer: rejected('WRONG_WORKER'),
    beat: 'WRONG_WORKER',
  },
]

const lost: Row[] = [
  {
    found: 'the lease has expired',
    arrange: () => stage.expired(),
    answer: { kind: 'cancelled', reason: 'EXPIRED' },
    beat: 'EXPIRED',
  },
  {
    found: 'the task is DEAD',
    arrange: async () => stage.kill(await stage.lease()),
    answer: { kind: 'cancelled', reason: 'TASK_TERMINAL' },
    beat: 'TASK_TERMINAL',
  },
  {
    found: 'the lease has expired, and the task is DEAD',
    arrange: async () => stage.kill(await stage.expired()),
    answer: { kind: 'cancelled', reason: 'TASK_TERMINAL' },
    beat: 'TASK_TERMINAL',
  },
]

t.test('a report or a heartbeat without a lease of its own: REJECTED', async (t) => {
  for (const { found, arrange, answer, beat } of refused) {
    for (const kind of kinds) {
      const held = await arrange()
      const { taskId } = held
      t.strictSame(
        await stage.observe(taskId, reportOf(kind, held, 'p')),
        { answer, ...nothing },
        `${found}: ${kind}`,
      )
      t.strictSame(
        await stage.observe(taskId, beatOf(held)),
        { answer: rejected(beat), ...nothing },
        `${found}: heartbeat`,
      )
    }
  }
})

t.test(
  'the lease was lost: CANCELLED with one record, however often; a heartbeat is REJECTED',
  async (t) => {
    for (const { found, arrange, answer, beat } of lost) {
      for (const kind of kinds) await checkLost(t, await arrange(), kind, { found, answer, beat })
    }
  },
)

t.test('another attempt superseded the lease: CANCELLED, naming that lease', async (t) => {
  for (const kind of kinds) {
    const first = await stage.lease({ executionWindowMs: 30 })
    const second = await leaseFrom(w2, first.queue)
    t.equal(second.taskId, first.taskId)
    // The second lease is as short; only its existence matters.
    const answer = { kind: 'cancelled', reason: 'SUPERSEDED', supersededBy: second.leaseId }
    await stage.expiryOf(second)
    await checkLost(t, first, kind, { found: 'superseded', answer, beat: 'SUPERSEDED' })
  }
})

async function checkLost(t: Test, held: Held, kind: Kind, row: Omit<Row, 'arrange'>) {
  const { found, answer, beat } = row
  const { taskId } = held
  const refusal = { answer: rejected(beat), ...nothing }
  const [report, again] = [reportOf(kind, held, 'p'), reportOf(kind, held, 'q')]
  t.strictSame(await stage.observe(taskId, beatOf(held)), refusal, `${found}: heartbeat`)
  const once = { answer, written: ['TaskCancelled'] }
  t.strictSame(await stage.observe(taskId, report), once, `${found}: ${kind}`)
  const never = { answer, ...nothing }
  t.strictSame(await stage.observe(taskId, report), never, `${found}: ${kind} sent again`)
  t.strictSame(await stage.observe(taskId, again), never, `${found}: a second ${kind}`)
  t.strictSame(await stage.observe(taskId, beatOf(held)), refusal, `${found}: a late heartbeat`)
}

t.test('complete under a valid lease: COMMITTED, with the result stored', async (t) => {
  const held = await stage.lease()
  const result = Uint8Array.of(0, 255, 7)
  const answer = { kind: 'committed', state: 'COMPLETED' }
  const report = { ...reportOf('complete', held, 'p'), result } as NewRequest
  t.strictSame(await stage.observe(held.taskId, report), { answer, written: ['TaskCompleted'] })
  const { task } = await expect(w2, 'task', { kind: 'get', taskId: held.taskId })
  t.match(task, { state: 'COMPLETED', currentLeaseId: null })
  t.strictSame(Uint8Array.from(task.result as Uint8Array), result)
  t.notOk('payload' in task)
})

t.test(
  'fail under a valid lease: COMMITTED with WAITING and eligible_at, and finally with FAILED',
  async (t) => {
    const first = await stage.lease(retries(1, 70))
    const { taskId, queue } = first
    const failed = await stage.observe(taskId, reportOf('fail', first, 'p'))
    const { task } = await expect(w2, 'task', { kind: 'get', taskId })
    const { stateSince, eligibleAt } = task as { stateSince: number; eligibleAt: number }
    t.equal(eligibleAt, stateSince + 70)
    const answer = { kind: 'committed', state: 'WAITING', eligibleAt }
    t.strictSame(failed, { answer, written: ['TaskFailed'] })
    const second = await leaseFrom(w1, queue)
    t.ok(second.leaseExpiry - second.leaseMs >= eligibleAt, 'and not before')
    t.strictSame(await stage.observe(taskId, reportOf('fail', second, 'p')), {
      answer: { kind: 'committed', state: 'FAILED' },
      written: ['TaskFailed'],
    })
  },
)

t.test('the same report sent again: the same COMMITTED, and no record', async (t) => {
  for (const kind of kinds) {
    for (const options of [retries(1, 60_000), retries(0)]) {
      const held = await stage.lease(options)
      const report = reportOf(kind, held, 'p')
      const { answer, written } = await stage.observe(held.taskId, report)
      t.equal(written.length, 1)
      t.strictSame(await stage.observe(held.taskId, report), { answer, ...nothing })
    }
  }
})

t.test('of three concurrent copies of a report one is written', async (t) => {
  for (const kind of kinds) {
    const held = await stage.lease()
    const report = reportOf(kind, held, 'p')
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => w1.request(report)))
    t.equal(first?.kind, 'committed')
    for (const other of others) t.strictSame(essence(other), essence(first!))
    const type = kind === 'complete' ? 'TaskCompleted' : 'TaskFailed'
    t.strictSame(await stage.historyOf(held.taskId), ['TaskCreated', 'LeaseGranted', type])
  }
})

t.test(
  'a failure report sent again after the task has continued: its original answer',
  async (t) => {
    const first = await stage.lease(retries(1))
    const { taskId } = first
    const { answer } = await stage.observe(taskId, reportOf('fail', first, 'p'))
    t.match(answer, { kind: 'committed', state: 'WAITING', eligibleAt: Number })
    const second = await leaseFrom(w1, first.queue)
    await w1.request(reportOf('fail', second, 'p'))
    t.strictSame(await stage.observe(taskId, reportOf('fail', first, 'p')), {
      answer,
      ...nothing,
    })
  },
)

t.test(
  'another report under the same lease: DUPLICATE_REPORT, naming the first outcome',
  async (t) => {
    for (const kind of kinds) {
      const held = await stage.lease()
      const { taskId } = held
      await w1.request(reportOf(kind, held, 'p'))
      const otherKind = kind === 'complete' ? 'fail' : 'complete'
      const others = [
        reportOf(kind, held, 'q'),
        reportOf(kind, held),
        reportOf(otherKind, held, 'p'),
      ]
      const refusal = { answer: rejected('DUPLICATE_REPORT'), ...nothing }
      for (const other of others) t.strictSame(await stage.observe(taskId, other), refusal)
      const outcome = kind === 'complete' ? /already reported COMPLETED/ : /already reported FAILED/
      t.match(await w1.request(others[0]!), { message: outcome })
      const reported = { answer: rejected('REPORTED'), ...nothing }
      t.strictSame(await stage.observe(taskId, beatOf(held)), reported, 'a heartbeat: REPORTED')
    }
  },
)

t.test('a report without a report_id is never recognised as a repetition', async (t) => {
  for (const kind of kinds) {
    const held = await stage.lease()
    await w1.request(reportOf(kind, held))
    t.strictSame(await stage.observe(held.taskId, reportOf(kind, held)), {
      answer: rejected('DUPLICATE_REPORT'),
      ...nothing,
    })
  }
})

t.test('of 33 leases the oldest is UNKNOWN_LEASE, the others are known', async (t) => {
  const oldest = await stage.lease(retries(100))
  const { taskId, queue } = oldest
  await w1.request(reportOf('fail', oldest, 'p'))
  const next = await leaseFrom(w1, queue)
  await w1.request(reportOf('fail', next, 'p'))
  for (let count = 3; count <= 32; count++) {
    await w1.request(reportOf('fail', await leaseFrom(w1, queue), 'p'))
  }
  const repeated = { kind: 'committed', state: 'WAITING' }
  t.match((await stage.observe(taskId, reportOf('fail', oldest, 'p'))).answer, repeated, 'of 32')
  await leaseFrom(w1, queue)
  for (const request of [reportOf('fail', oldest, 'p'), beatOf(oldest)]) {
    const unknown = { answer: rejected('UNKNOWN_LEASE'), ...nothing }
    t.strictSame(await stage.observe(taskId, request), unknown)
  }
  t.match((await stage.observe(taskId, reportOf('fail', next, 'p'))).answer, repeated)
})

t.test('a heartbeat is OK: with a record if it extends the lease, otherwise without', async (t) => {
  const held = await stage.lease()
  const { taskId } = held
  let extended = held.leaseExpiry
  // The heartbeat must come in a later millisecond than the grant.
  while (extended === held.leaseExpiry) {
    const { leaseExpiry } = await expect(w1, 'extended', beatOf(held))
    extended = leaseExpiry
  }
  t.ok(extended > held.leaseExpiry)
  const written = ['TaskCreated', 'LeaseGranted', 'LeaseExtended']
  t.strictSame(await stage.historyOf(taskId), written)
  const used = await stage.lease({ executionWindowMs: 20_000 })
  const { leaseExpiry, windowEnd } = used
  t.equal(leaseExpiry, windowEnd)
  t.match(await stage.observe(used.taskId, beatOf(used)), {
    answer: { kind: 'extended', leaseExpiry, windowEnd },
    ...nothing,
  })
})

t.test('a malformed field: REJECTED MALFORMED, and no record', async (t) => {
  const held = await stage.lease()
  const malformed: [string, NewRequest][] = [
    ['a task_id below 1', { ...reportOf('complete', held), taskId: 0 }],
    ['a lease_id that is not whole', { ...reportOf('fail', held), leaseId: 1.5 }],
    ['a report_id of 129 bytes', reportOf('complete', held, 'p'.repeat(129))],
    ['an empty report_id', { ...reportOf('fail', held), reportId: '' }],
    [
      'a reason of 4097 bytes',
      { ...reportOf('fail', held), reason: 'x'.repeat(4097) } as NewRequest,
    ],
    ['a result that is a text', { ...reportOf('complete', held), result: 'x' } as never],
    ['a heartbeat for no task', { ...beatOf(held), taskId: -1 }],
  ]
  for (const [name, request] of malformed) {
    const refusal = { answer: rejected('MALFORMED'), ...nothing }
    t.strictSame(await stage.observe(held.taskId, request), refusal, name)
  }
  const { answer } = await stage.observe(held.taskId, reportOf('complete', held))
  t.match(answer, { kind: 'committed' }, 'and the connection stays open')
})

t.test(
  'a malformed frame: REJECTED if it has an id, otherwise the connection ends; no record',
  async (t) => {
    const held = await stage.lease({}, w2)
    const before = await stage.historyOf(held.taskId)
    const peer = await RawPeer.open(stage.port, 'w2')
    const whole = encodeRequest({ ...reportOf('complete', held), id: 7 } as never)
    // Without its last field: a list is one shorter, a body one byte.
    const short = Buffer.from(whole.subarray(0, -1))
    short.writeUInt32BE(short.length - 4)
    short[4]! -= 1
    const refusal = { kind: 'answer', answer: { kind: 'rejected', id: 7, reason: 'MALFORMED' } }
    t.match(await peer.say(short), refusal)
    const farewell = { kind: 'answer', answer: { kind: 'rejected', id: 0, reason: 'PROTOCOL' } }
    t.match(await peer.say(Buffer.from([0, 0, 0, 1, 0xc1])), farewell)
    t.equal(await peer.next(), undefined, 'and the connection ends')
    t.strictSame(await stage.historyOf(held.taskId), before)
    t.match(await w2.request(reportOf('complete', held)), { kind: 'committed' })
  },
)

t.test('the task was forgotten after its retention: UNKNOWN_TASK', async (t) => {
  const own = await Stage.open(t, ['--retention-tasks', '0'])
  const held = await own.lease()
  const written = ['TaskCreated', 'LeaseGranted', 'TaskCompleted']
  await expect(own.w1, 'committed', reportOf('complete', held, 'p'))
  await own.forgetting()
  for (const request of [...kinds.map((kind) => reportOf(kind, held, 'p')), beatOf(held)]) {
    const unknown = { answer: rejected('UNKNOWN_TASK'), ...nothing }
    t.strictSame(await own.observe(held.taskId, request), unknown)
  }
  t.strictSame(await own.historyOf(held.taskId), written)
})

t.test('nothing was written after an answer, except expiries', async (t) => {
  await Promise.all([w1.close(), w2.close()])
  t.match(await stage.coordinator.stop(), { code: 0 })
  const histories = await stage.readHistories()
  t.ok(stage.noted.size > 0)
  for (const [taskId, seen] of stage.noted) {
    const later = (histories.get(taskId) ?? []).slice(seen.length)
    const unexpected = later.filter((type) => type !== 'LeaseExpired')
    t.strictSame(unexpected, [], `task ${taskId}`)
  }
})
