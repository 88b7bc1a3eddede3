import t from 'tap'
import {
  busyWorld,
  created,
  everythingOf,
  oneRetry,
  type Retries,
  World,
  windowMs,
} from './naive-world.js'

t.test('a new task is WAITING, with only the fields that apply', async (t) => {
  const world = new World()
  const payload = Buffer.from('work')
  world.create(100, { payload })
  world.create(100, { queue: 'mail', notBefore: 50, requestId: 'once' })
  payload.fill(0)
  const common = {
    state: 'WAITING',
    attempt: 0,
    currentLeaseId: null,
    executionWindowMs: windowMs,
    retryPolicy: oneRetry,
    createdAt: 100,
    stateSince: 100,
    eligibleAt: 100,
    failures: 0,
    expiriesInARow: 0,
    attempts: [],
  }
  t.strictSame(world.model.tasks(), [
    { ...common, taskId: 1, queue: 'default', payload: new TextEncoder().encode('work') },
    {
      ...common,
      taskId: 2,
      queue: 'mail',
      payload: new Uint8Array([1, 2, 3]),
      notBefore: 50,
      requestId: 'once',
    },
  ])
  t.equal(world.model.byRequestId('once'), 2)
  t.equal(world.model.byRequestId('never'), undefined)
  t.equal(world.model.task(3), undefined)
})

t.test('a lease is granted, extended and completed', async (t) => {
  const world = new World()
  const task = world.create(100)
  const lease = world.grant(110, task)
  world.extend(120, lease, 500)
  const open = {
    attempt: 1,
    leaseId: lease,
    workerId: 'worker',
    grantedAt: 110,
    leaseExpiry: 500,
    outcome: 'OPEN',
    cancelled: false,
  }
  t.strictSame(world.task(task), {
    taskId: task,
    queue: 'default',
    state: 'LEASED',
    attempt: 1,
    currentLeaseId: lease,
    workerId: 'worker',
    leaseExpiry: 500,
    payload: new Uint8Array([1, 2, 3]),
    executionWindowMs: windowMs,
    retryPolicy: oneRetry,
    createdAt: 100,
    stateSince: 110,
    failures: 0,
    expiriesInARow: 0,
    attempts: [open],
  })
  const end = world.complete(130, task, lease, new Uint8Array([9]))
  t.strictSame(world.task(task), {
    taskId: task,
    queue: 'default',
    state: 'COMPLETED',
    attempt: 1,
    currentLeaseId: null,
    executionWindowMs: windowMs,
    retryPolicy: oneRetry,
    createdAt: 100,
    stateSince: 130,
    failures: 0,
    expiriesInARow: 0,
    endedLsn: end,
    result: new Uint8Array([9]),
    attempts: [{ ...open, outcome: 'COMPLETED', endedAt: 130, reportId: 'report' }],
  })
})

t.test('a failed task waits for its backoff, and is FAILED when no retry is left', async (t) => {
  const world = new World()
  const task = world.create(100)
  world.expire(200, task, world.grant(100, task))
  world.fail(210, task, world.grant(200, task))
  t.match(world.task(task), {
    state: 'WAITING',
    stateSince: 210,
    eligibleAt: 260,
    failures: 1,
    expiriesInARow: 0,
    reason: 'failed at 210',
  })
  const lease = world.grant(260, task)
  t.equal(world.task(task).reason, 'failed at 210', 'also while it runs again')
  const end = world.fail(270, task, lease)
  const failed = world.task(task)
  t.match(failed, { state: 'FAILED', failures: 2, reason: 'failed at 270', endedLsn: end })
  t.strictSame(failed.payload, new Uint8Array([1, 2, 3]), 'it can be submitted again')
  t.notOk('eligibleAt' in failed)
  t.match(world.model.counters(), { retries: 1, tasksFailed: 1 })
})

t.test('a COMPLETED task has no failure reason from earlier attempts', async (t) => {
  const world = new World()
  const task = world.create(0)
  world.fail(0, task, world.grant(0, task))
  world.complete(50, task, world.grant(50, task))
  const completed = world.task(task)
  t.match(completed, { state: 'COMPLETED', attempt: 2, failures: 1 })
  t.notOk('reason' in completed)
  t.notOk('result' in completed, 'the report had no result')
})

t.test('an exponential backoff doubles up to its maximum and stays there', async (t) => {
  const delaysOf = (backoff: Retries['backoff'], count: number): number[] => {
    const world = new World()
    const task = world.create(0, { retryPolicy: { maxRetries: count, backoff } })
    const delays: number[] = []
    for (let n = 1; n <= count; n++) {
      const at = world.task(task).eligibleAt ?? Number.NaN
      world.fail(at, task, world.grant(at, task))
      delays.push((world.task(task).eligibleAt ?? Number.NaN) - at)
    }
    return delays
  }
  t.strictSame(delaysOf({ kind: 'exponential', initialMs: 3, maxMs: 20 }, 5), [3, 6, 12, 20, 20])
  t.strictSame(delaysOf({ kind: 'exponential', initialMs: 30, maxMs: 20 }, 2), [20, 20])
  t.equal(delaysOf({ kind: 'exponential', initialMs: 3, maxMs: 20 }, 1100).at(-1), 20)
  t.equal(delaysOf({ kind: 'exponential', initialMs: 0, maxMs: 20 }, 1100).at(-1), 0)
})

t.test('expiries in a row are counted, except those found at startup', async (t) => {
  const world = new World()
  const task = world.create(0)
  world.expire(100, task, world.grant(0, task))
  world.expire(200, task, world.grant(100, task), true)
  world.expire(350, task, world.grant(200, task))
  t.match(world.task(task), {
    state: 'WAITING',
    currentLeaseId: null,
    stateSince: 350,
    eligibleAt: 350,
    failures: 0,
    expiriesInARow: 2,
  })
  t.match(world.model.counters(), {
    leasesExpired: 3,
    leasesExpiredAtStart: 1,
    possibleDuplicates: 2,
    retries: 0,
  })
})

t.test('a late report is recorded on its attempt and changes no state', async (t) => {
  const world = new World()
  const task = world.create(0)
  const late = world.grant(0, task)
  world.expire(100, task, late)
  world.complete(100, task, world.grant(100, task))
  const before = world.task(task)
  world.cancel(120, task, late)
  const [first, second] = before.attempts
  t.strictSame(world.task(task), { ...before, attempts: [{ ...first, cancelled: true }, second] })
  t.match(world.model.counters(), { confirmedDuplicates: 1, refusedReports: 1 })
})

t.test(
  'a duplicate is confirmed by an expiry, a grant after it and a report, in any order',
  async (t) => {
    const world = new World()
    const counts = () => {
      const { possibleDuplicates, confirmedDuplicates, refusedReports } = world.model.counters()
      return [possibleDuplicates, confirmedDuplicates, refusedReports]
    }
    const killed = world.create(0)
    const stopped = world.grant(0, killed)
    world.kill(0, killed)
    world.cancel(0, killed, stopped)
    t.strictSame(counts(), [0, 0, 1], 'a task that was killed ran once')
    const task = world.create(0)
    const first = world.grant(0, task)
    world.expire(100, task, first)
    world.cancel(100, task, first)
    t.strictSame(counts(), [0, 0, 2], 'no other worker has run it yet')
    const second = world.grant(100, task)
    t.strictSame(counts(), [1, 1, 2])
    world.expire(200, task, second)
    const third = world.grant(200, task)
    t.strictSame(counts(), [2, 1, 2], 'there is no report under the second lease')
    world.complete(200, task, third)
    world.cancel(210, task, second)
    t.strictSame(counts(), [2, 2, 3])
    world.forget(210, world.model.lastLsn)
    t.strictSame(counts(), [2, 2, 3], 'counters outlive their task')
  },
)

t.test('a killed task ends its attempt and keeps its payload and the reason', async (t) => {
  const world = new World()
  const leased = world.create(0)
  const waiting = world.create(0)
  const lease = world.grant(0, leased)
  const end = world.kill(10, leased)
  world.kill(10, waiting)
  const dead = world.task(leased)
  t.match(dead, { state: 'DEAD', stateSince: 10, reason: 'stopped', endedLsn: end })
  t.match(dead.attempts, [{ outcome: 'DEAD', endedAt: 10 }])
  t.ok(dead.payload)
  t.notOk('eligibleAt' in world.task(waiting))
  world.cancel(20, leased, lease)
  t.equal(world.task(leased).stateSince, 10)
})

t.test('only the last 32 attempts are remembered', async (t) => {
  const world = new World()
  const task = world.create(0)
  const leases: number[] = []
  for (let n = 1; n <= 33; n++) {
    const lease = world.grant(n, task, 1)
    leases.push(lease)
    world.expire(n + 1, task, lease)
  }
  const { attempt, attempts } = world.task(task)
  t.equal(attempt, 33)
  t.strictSame(
    attempts.map(({ leaseId }) => leaseId),
    leases.slice(1),
  )
  const lateReport = (leaseId: number | undefined): string | undefined =>
    world.model.apply(world.model.lastLsn + 1, {
      type: 'TaskCancelled',
      at: 100,
      taskId: task,
      leaseId: leaseId ?? Number.NaN,
    })
  t.equal(lateReport(leases[0]), 'lease must have been granted for the task')
  t.equal(lateReport(leases[1]), undefined)
})

t.test(
  'forgetting removes tasks that ended up to an LSN, and frees their request ids',
  async (t) => {
    const world = new World()
    const first = world.create(0, { requestId: 'once', queue: 'mail' })
    const second = world.create(0)
    const alive = world.create(0)
    // They end in the reverse order of their creation.
    const earlier = world.kill(0, second)
    const later = world.kill(0, first)
    t.strictSame(world.model.ended(), [second, first])
    t.strictSame(world.model.queues(), ['default', 'mail'])
    world.forget(0, earlier)
    t.equal(world.model.task(second), undefined)
    t.equal(world.model.byRequestId('once'), first)
    world.forget(0, later)
    t.strictSame(
      world.model.tasks().map(({ taskId }) => taskId),
      [alive],
    )
    t.strictSame(world.model.queues(), ['default'])
    t.equal(world.model.counters().tasksForgotten, 2)
    t.doesNotThrow(() => world.create(0, { requestId: 'once' }))
  },
)

t.test('every record is counted', async (t) => {
  const world = busyWorld()
  world.extend(110, 3, 300)
  world.kill(110, 1)
  t.strictSame(world.model.counters(), {
    tasksCreated: 5,
    leasesGranted: 3,
    leasesExtended: 1,
    leasesExpired: 1,
    leasesExpiredAtStart: 0,
    tasksCompleted: 1,
    retries: 0,
    tasksFailed: 0,
    tasksDead: 1,
    tasksForgotten: 0,
    possibleDuplicates: 0,
    confirmedDuplicates: 0,
    refusedReports: 1,
  })
})

t.test('lists are ordered by time, then by task', async (t) => {
  const world = new World()
  world.create(0, { notBefore: 50 })
  world.create(0, { notBefore: 10 })
  world.create(0, { queue: 'mail' })
  world.create(0)
  world.create(10)
  t.strictSame(world.model.waiting('default'), [4, 2, 5, 1])
  t.strictSame(world.model.waiting('mail'), [3])
  t.strictSame(world.model.waiting('none'), [])
  t.equal(world.model.nextEligible(['default', 'mail'], 10), 3)
  t.equal(world.model.nextEligible(['default'], 9), 4)
  t.equal(world.model.nextEligible(['mail'], 10), 3)
  t.equal(world.model.nextEligible(['none'], 10), undefined)
  t.equal(world.model.nextEligible(['default', 'mail'], -1), undefined)
  t.equal(world.model.nextEligibleAt('default'), 0)
  t.equal(world.model.nextEligibleAt('none'), undefined)
  t.equal(world.model.nextExpiry(), undefined)
  world.grant(10, 5)
  world.grant(10, 4)
  const moved = world.grant(10, 2, 50)
  world.grant(10, 3, 90)
  world.extend(20, moved, 200)
  t.strictSame(world.model.leased(), [3, 4, 5, 2])
  t.strictSame(world.model.nextExpiry(), { leaseId: moved + 1, at: 100 })
  t.strictSame(world.model.waiting('default'), [1])
})

t.test('after a declared gap the log continues at its LSN', async (t) => {
  const world = new World()
  world.create(7)
  t.throws(() => world.model.skipTo(1), RangeError)
  world.model.skipTo(10)
  t.equal(world.model.lastLsn, 9)
  t.equal(world.model.lastAt, 7)
  t.equal(world.model.apply(2, created(2, 7)), 'LSN must follow the last one')
  t.equal(world.create(7), 10)
})

t.test('a copy is independent, and returned values are copies', async (t) => {
  const { model } = busyWorld()
  const before = everythingOf(model)
  const copy = model.clone()
  t.strictSame(everythingOf(copy), before)
  t.equal(copy.apply(12, { type: 'TaskDead', at: 110, taskId: 2, reason: 'stopped' }), undefined)
  const shown = model.task(1)
  shown?.payload?.fill(0)
  if (shown !== undefined) shown.state = 'DEAD'
  model.counters().tasksCreated = 0
  t.strictSame(everythingOf(model), before)
  t.notSame(everythingOf(copy), before)
})
