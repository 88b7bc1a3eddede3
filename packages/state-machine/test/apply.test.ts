import {
  apply,
  attemptsKept,
  checkInvariants,
  countTasks,
  createState,
  endedTasks,
  expiredInARow,
  findByRequestId,
  forgettableThrough,
  getCounters,
  getCurrentLeaseId,
  getLease,
  getOffer,
  getQueue,
  getStanding,
  getSummary,
  getTask,
  getTaskState,
  hashState,
  hasTask,
  isSameSubmission,
  leasedTasks,
  listTasks,
  nextEligible,
  nextEligibleAt,
  nextExpiry,
  type RetryPolicy,
  release,
  type Submission,
  skipTo,
  viewPayload,
  waitingTasks,
  withhold,
} from '@tenure/state-machine'
import t from 'tap'
import { World } from './world.js'

t.test('TaskCreated: a task that did not exist is WAITING, with no attempt and no lease', (t) => {
  const world = new World()
  const taskId = world.create({
    payload: Buffer.from('the work'),
    requestId: 'order 7',
    queue: 'mail',
  })
  t.strictSame(world.task(taskId), {
    taskId: 1,
    queue: 'mail',
    state: 'WAITING',
    attempt: 0,
    currentLeaseId: null,
    payload: Uint8Array.from(Buffer.from('the work')),
    executionWindowMs: 60_000,
    retryPolicy: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 500 } },
    requestId: 'order 7',
    createdAt: 1_000_000,
    stateSince: 1_000_000,
    eligibleAt: 1_000_000,
    failures: 0,
    expiriesInARow: 0,
    attempts: [],
  })
  t.equal(findByRequestId(world.state, 'order 7'), taskId)
  t.equal(findByRequestId(world.state, 'order 8'), undefined)
  t.end()
})

t.test('TaskCreated: without a queue the task is in the default one', (t) => {
  const world = new World()
  t.equal(world.task(world.create()).queue, 'default')
  t.end()
})

t.test('TaskCreated: not_before makes it eligible later, and one in the past at once', (t) => {
  const world = new World()
  const later = world.create({ notBefore: world.at + 1 })
  const past = world.create({ notBefore: 5 })
  t.match(world.task(later), { state: 'WAITING', notBefore: 1_000_001, eligibleAt: 1_000_001 })
  t.match(world.task(past), { state: 'WAITING', notBefore: 5, eligibleAt: 1_000_000 })
  t.end()
})

t.test('TaskCreated: what it keeps is its own', (t) => {
  const world = new World()
  const payload = Buffer.from('abc')
  const taskId = world.create({ payload })
  payload.fill(0)
  const seen = world.task(taskId).payload
  seen?.fill(0)
  t.strictSame(world.task(taskId).payload, Uint8Array.from(Buffer.from('abc')))
  t.end()
})

t.test('LeaseGranted: the task is LEASED, owned by the worker, its attempt counted', (t) => {
  const world = new World()
  const taskId = world.create()
  world.at += 5
  const leaseId = world.grant(taskId, { workerId: 'w-7' })
  const { eligibleAt, ...task } = world.task(taskId)
  t.equal(eligibleAt, undefined)
  t.match(task, { state: 'LEASED', attempt: 1, currentLeaseId: leaseId, stateSince: 1_000_005 })
  t.strictSame(task.attempts, [
    {
      attempt: 1,
      leaseId,
      workerId: 'w-7',
      grantedAt: 1_000_005,
      leaseExpiry: 1_010_005,
      outcome: 'RUNNING',
      cancelled: false,
    },
  ])
  t.strictSame(getLease(world.state, leaseId), {
    leaseId,
    taskId,
    queue: 'default',
    attempt: 1,
    workerId: 'w-7',
    grantedAt: 1_000_005,
    leaseExpiry: 1_010_005,
    windowEnd: 1_060_005,
  })
  t.end()
})

t.test('LeaseGranted: a lease may last until the end of the execution window', (t) => {
  const world = new World()
  const taskId = world.create()
  world.grant(taskId, { leaseExpiry: world.at + 60_000 })
  t.equal(world.task(taskId).state, 'LEASED')
  t.end()
})

t.test('LeaseExtended: the expiry is updated and no state changes', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  world.at += 9999
  world.extend(leaseId, 1_060_000)
  t.match(world.task(taskId), { state: 'LEASED', stateSince: 1_000_000, currentLeaseId: leaseId })
  t.equal(getLease(world.state, leaseId)?.leaseExpiry, 1_060_000)
  t.equal(world.task(taskId).attempts[0]?.leaseExpiry, 1_060_000)
  t.end()
})

t.test('LeaseExpired: the task is WAITING again, eligible at once, and uses up no retry', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  world.expire(taskId)
  t.match(world.task(taskId), {
    state: 'WAITING',
    currentLeaseId: null,
    eligibleAt: world.at,
    failures: 0,
    attempt: 1,
  })
  t.match(world.task(taskId).attempts, [{ leaseId, outcome: 'EXPIRED', endedAt: 1_010_000 }])
  t.equal(getLease(world.state, leaseId), undefined)
  t.end()
})

t.test('LeaseExpired: expiries in a row are counted, but not those seen at start', (t) => {
  const world = new World()
  const { taskId } = world.leased({
    retryPolicy: { maxRetries: 9, backoff: { kind: 'fixed', delayMs: 0 } },
  })
  world.expire(taskId)
  world.grant(taskId)
  world.expire(taskId, { atStart: true })
  t.equal(world.task(taskId).expiriesInARow, 1)
  world.grant(taskId)
  world.expire(taskId)
  t.equal(world.task(taskId).expiriesInARow, 2)
  world.grant(taskId)
  world.fail(taskId)
  t.equal(world.task(taskId).expiriesInARow, 0, 'a report resets the count')
  t.end()
})

t.test('TaskCompleted: the task is terminal, keeps its result and no payload', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased({ requestId: 'r', payload: Buffer.alloc(300, 1) })
  const lsn = world.complete(taskId, { result: Buffer.from('done'), reportId: 'p-1' })
  const { payload, ...task } = world.task(taskId)
  t.equal(payload, undefined)
  t.match(task, { state: 'COMPLETED', currentLeaseId: null, endedLsn: lsn, requestId: 'r' })
  t.strictSame(task.result, Uint8Array.from(Buffer.from('done')))
  t.match(task.attempts, [{ leaseId, outcome: 'COMPLETED', endedAt: world.at, reportId: 'p-1' }])
  t.equal(findByRequestId(world.state, 'r'), taskId)
  t.end()
})

t.test('TaskCompleted: an empty result is a result, none is none', (t) => {
  const world = new World()
  const [empty, none] = [world.leased().taskId, world.leased().taskId]
  world.complete(empty, { result: new Uint8Array() })
  world.complete(none)
  t.strictSame(world.task(empty).result, new Uint8Array())
  t.notOk('result' in world.task(none))
  t.end()
})

t.test('TaskCompleted: the reason of an earlier failure goes', (t) => {
  const world = new World()
  const { taskId } = world.leased()
  world.fail(taskId)
  world.at += 500
  world.grant(taskId)
  world.complete(taskId)
  t.notOk('reason' in world.task(taskId))
  t.match(world.task(taskId), { failures: 1, attempt: 2 })
  t.end()
})

t.test('TaskFailed: if retries remain the task is WAITING, eligible after the backoff', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  world.fail(taskId, { failureReason: 'no route', reportId: 'p-2' })
  t.match(world.task(taskId), {
    state: 'WAITING',
    failures: 1,
    reason: 'no route',
    eligibleAt: world.at + 500,
  })
  t.match(world.task(taskId).attempts, [{ leaseId, outcome: 'FAILED', reportId: 'p-2' }])
  t.end()
})

t.test('TaskFailed: if retries are exhausted the task is FAILED and keeps its payload', (t) => {
  const world = new World()
  const { taskId } = world.leased()
  world.fail(taskId)
  world.at += 500
  world.grant(taskId)
  const lsn = world.fail(taskId, { failureReason: 'again' })
  t.match(world.task(taskId), { state: 'FAILED', failures: 2, reason: 'again', endedLsn: lsn })
  t.strictSame(world.task(taskId).payload, Uint8Array.from(Buffer.from('work')))
  t.end()
})

t.test('an exponential backoff doubles until it is as long as it may get', (t) => {
  const delays = (policy: RetryPolicy, times: number) => {
    const world = new World()
    const taskId = world.create({ retryPolicy: policy })
    return Array.from({ length: times }, () => {
      world.at = world.task(taskId).eligibleAt ?? 0
      world.grant(taskId)
      world.fail(taskId)
      return (world.task(taskId).eligibleAt ?? 0) - world.at
    })
  }
  const exponential = (initialMs: number, maxMs: number): RetryPolicy => ({
    maxRetries: 2000,
    backoff: { kind: 'exponential', initialMs, maxMs },
  })
  t.strictSame(delays(exponential(3, 20), 5), [3, 6, 12, 20, 20])
  t.strictSame(delays(exponential(30, 20), 2), [20, 20])
  t.equal(delays(exponential(1, 2 ** 40), 60).at(-1), 2 ** 40)
  t.equal(delays(exponential(0, 20), 1100).at(-1), 0)
  t.end()
})

t.test('TaskCancelled: no task state changes, the fact is kept', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  world.expire(taskId)
  const { attempts, ...before } = world.task(taskId)
  world.cancel(taskId, leaseId)
  const { attempts: after, ...task } = world.task(taskId)
  t.strictSame(task, before)
  t.strictSame([attempts[0]?.cancelled, after[0]?.cancelled], [false, true])
  t.end()
})

t.test('TaskCancelled: also of a lease that another one superseded, and of a DEAD task', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  world.expire(taskId)
  const second = world.grant(taskId)
  world.cancel(taskId, leaseId)
  world.kill(taskId)
  world.cancel(taskId, second)
  t.match(world.task(taskId).attempts, [{ cancelled: true }, { cancelled: true }])
  t.end()
})

t.test('TaskDead: a WAITING or LEASED task is stopped for good', (t) => {
  const world = new World()
  const waiting = world.create()
  world.kill(waiting, 'not wanted')
  t.match(world.task(waiting), { state: 'DEAD', reason: 'not wanted', endedLsn: 2, attempts: [] })
  const { taskId, leaseId } = world.leased()
  world.at += 7
  world.kill(taskId)
  t.match(world.task(taskId), { state: 'DEAD', currentLeaseId: null, stateSince: 1_000_007 })
  t.match(world.task(taskId).attempts, [{ outcome: 'DEAD', endedAt: 1_000_007 }])
  t.equal(getLease(world.state, leaseId), undefined)
  t.strictSame(world.task(taskId).payload, Uint8Array.from(Buffer.from('work')))
  t.end()
})

t.test(
  'TasksForgotten: terminal tasks that ended at or before the LSN are dropped, no others',
  (t) => {
    const world = new World()
    const waiting = world.create()
    const [first, second] = [
      world.leased({ requestId: 'a' }).taskId,
      world.leased({ requestId: 'b' }).taskId,
    ]
    const through = world.complete(first)
    world.complete(second)
    world.forget(through)
    t.equal(getTask(world.state, first), undefined)
    t.equal(findByRequestId(world.state, 'a'), undefined, 'its request_id is free')
    t.equal(world.task(second).state, 'COMPLETED')
    t.equal(world.task(waiting).state, 'WAITING')
    t.equal(world.task(world.create({ requestId: 'a' })).requestId, 'a')
    t.end()
  },
)

t.test('TasksForgotten: through a number below every end drops nothing', (t) => {
  const world = new World()
  const { taskId } = world.leased()
  world.complete(taskId)
  world.forget(2)
  t.equal(world.task(taskId).state, 'COMPLETED')
  t.end()
})

t.test('a task keeps a record of its last 32 attempts; an older lease is unknown', (t) => {
  const world = new World()
  const taskId = world.create()
  const leases = Array.from({ length: attemptsKept + 2 }, () => {
    const leaseId = world.grant(taskId)
    world.expire(taskId)
    return leaseId
  })
  const task = world.task(taskId)
  t.equal(task.attempt, attemptsKept + 2)
  t.strictSame(
    task.attempts.map(({ leaseId }) => leaseId),
    leases.slice(-attemptsKept),
  )
  t.strictSame([task.attempts[0]?.attempt, task.attempts.at(-1)?.attempt], [3, attemptsKept + 2])
  const violation = world.violation(() => world.cancel(taskId, leases[1] ?? 0))
  t.equal(violation.rule, 'lease must have been granted for the task')
  world.cancel(taskId, leases[2] ?? 0)
  checkInvariants(world.state)
  t.end()
})

t.test(
  'eligible tasks are leased by (eligible_at, task_id), across the queues that are served',
  (t) => {
    const world = new World()
    const a1 = world.create({ queue: 'a' })
    const b1 = world.create({ queue: 'b' })
    world.at += 10
    const a2 = world.create({ queue: 'a' })
    const late = world.create({ queue: 'b', notBefore: world.at + 100 })
    t.equal(nextEligible(world.state, ['a', 'b'], world.at), a1)
    t.equal(nextEligible(world.state, ['b', 'a'], world.at), a1)
    t.equal(nextEligible(world.state, ['b'], world.at), b1)
    t.equal(nextEligible(world.state, ['c'], world.at), undefined)
    world.grant(a1)
    world.grant(b1)
    t.equal(nextEligible(world.state, ['a', 'b'], world.at), a2)
    t.equal(nextEligible(world.state, ['b'], world.at), undefined)
    t.equal(nextEligibleAt(world.state, 'b'), world.at + 100)
    t.equal(nextEligibleAt(world.state, 'c'), undefined)
    t.equal(nextEligible(world.state, ['b'], world.at + 100), late)
    t.end()
  },
)

t.test('a task that comes back takes its place by when it became eligible', (t) => {
  const world = new World()
  const { taskId: old } = world.leased()
  world.at += 10_000
  const young = world.create()
  world.expire(old)
  t.strictSame(
    [...waitingTasks(world.state, 'default')],
    [old, young],
    'the same time: the older id first',
  )
  const { taskId: failed } = world.leased()
  world.fail(failed)
  const last = world.create()
  t.strictSame([...waitingTasks(world.state, 'default')], [old, young, last, failed])
  t.end()
})

t.test('the lease that expires first is known', (t) => {
  const world = new World()
  t.equal(nextExpiry(world.state), undefined)
  const long = world.leased()
  const short = world.create()
  const shortLease = world.grant(short, { leaseExpiry: world.at + 1000 })
  t.strictSame(nextExpiry(world.state), { leaseId: shortLease, at: 1_001_000 })
  world.extend(shortLease, world.at + 20_000)
  t.strictSame(nextExpiry(world.state), { leaseId: long.leaseId, at: 1_010_000 })
  t.strictSame([...leasedTasks(world.state)], [long.taskId, short])
  t.end()
})

t.test(
  'tasks are counted by what they are, and ended ones stand in the order of their end',
  (t) => {
    const world = new World()
    const tasks = [1, 2, 3].map(() => world.leased().taskId)
    world.create()
    world.complete(tasks[2] ?? 0)
    world.kill(tasks[0] ?? 0)
    t.strictSame(countTasks(world.state), { waiting: 1, leased: 1, ended: 2, bytes: 3 * 4 + 7 })
    t.strictSame([...endedTasks(world.state)], [tasks[2], tasks[0]])
    t.end()
  },
)

t.test('the counters of a history', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  world.extend(leaseId, world.at + 11_000)
  world.expire(taskId)
  const second = world.grant(taskId)
  world.cancel(taskId, leaseId)
  world.expire(taskId, { leaseId: second, atStart: true })
  world.grant(taskId)
  world.fail(taskId)
  world.at += 500
  world.grant(taskId)
  const failed = world.fail(taskId)
  world.complete(world.leased().taskId)
  world.kill(world.create())
  world.forget(failed)
  t.strictSame(getCounters(world.state), {
    tasksCreated: 3,
    leasesGranted: 5,
    leasesExtended: 1,
    leasesExpired: 2,
    leasesExpiredAtStart: 1,
    tasksCompleted: 1,
    retries: 1,
    tasksFailed: 1,
    tasksDead: 1,
    tasksForgotten: 1,
    possibleDuplicates: 2,
    confirmedDuplicates: 1,
  })
  t.end()
})

t.test('a declared gap is skipped, never backwards', (t) => {
  const world = new World()
  world.create()
  skipTo(world.state, 100)
  t.equal(world.create(), 100)
  for (const nextLsn of [100, 99, 0, 100.5, Number.NaN, 2 ** 53, '200' as never]) {
    t.throws(() => skipTo(world.state, nextLsn), {
      code: 'STATE_BAD_ARGUMENT',
      message: /^nextLsn is .*; it must be an LSN above 100$/,
    })
  }
  t.equal(world.create(), 101)
  t.end()
})

t.test('a malformed record is refused by apply and changes nothing', (t) => {
  const world = new World()
  const { taskId } = world.leased()
  const record = { ...world.granting(taskId), attempt: Number.NaN }
  t.throws(() => world.apply(record), { code: 'STATE_MALFORMED_RECORD' })
  t.throws(() => apply(createState(), 1, { type: 'TaskPaused' } as never), {
    code: 'STATE_UNKNOWN_RECORD',
  })
  t.end()
})

t.test(
  'a task that is withheld is offered to nobody and does not expire, until it is released',
  (t) => {
    const world = new World()
    const [first, second] = [world.create(), world.create()]
    const leased = world.leased()
    const hash = hashState(world.state)
    for (const taskId of [first, first, leased.taskId, 999]) withhold(world.state, taskId)
    t.equal(nextEligible(world.state, ['default'], world.at), second)
    t.equal(nextExpiry(world.state), undefined)
    t.equal(hashState(world.state), hash)
    checkInvariants(world.state)
    for (const taskId of [first, first, leased.taskId, 999]) release(world.state, taskId)
    t.equal(nextEligible(world.state, ['default'], world.at), first)
    t.strictSame(nextExpiry(world.state), { leaseId: leased.leaseId, at: world.at + 10_000 })
    checkInvariants(world.state)
    t.end()
  },
)

t.test('a record finds a task that is withheld as it finds every other one', (t) => {
  const world = new World()
  const [granted, killed] = [world.create(), world.create()]
  const [extended, completed, expired] = [world.leased(), world.leased(), world.leased()]
  const tasks = [granted, killed, extended.taskId, completed.taskId, expired.taskId]
  for (const taskId of tasks) withhold(world.state, taskId)
  world.grant(granted)
  world.kill(killed)
  world.extend(extended.leaseId, world.at + 20_000)
  world.complete(completed.taskId)
  world.expire(expired.taskId)
  checkInvariants(world.state)
  for (const taskId of tasks) release(world.state, taskId)
  checkInvariants(world.state)
  t.strictSame([...leasedTasks(world.state)], [granted, extended.taskId])
  t.strictSame([...endedTasks(world.state)], [killed, completed.taskId])
  t.strictSame([...waitingTasks(world.state, 'default')], [expired.taskId])
  world.forget(world.nextLsn - 1)
  checkInvariants(world.state)
  t.end()
})

t.test('the standing of a lease: what a report under it has to be judged by', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  t.strictSame(getStanding(world.state, taskId, leaseId), {
    taskState: 'LEASED',
    workerId: 'w',
    outcome: 'RUNNING',
    grantedAt: 1_000_000,
    leaseExpiry: 1_010_000,
    windowEnd: 1_060_000,
    cancelled: false,
    newestLeaseId: leaseId,
  })
  world.expire(taskId)
  const second = world.grant(taskId)
  world.cancel(taskId, leaseId)
  world.complete(taskId, { reportId: 'p' })
  t.match(getStanding(world.state, taskId, leaseId), {
    outcome: 'EXPIRED',
    cancelled: true,
    newestLeaseId: second,
  })
  t.match(getStanding(world.state, taskId, second), {
    outcome: 'COMPLETED',
    taskState: 'COMPLETED',
    reportId: 'p',
  })
  t.equal(getStanding(world.state, taskId, 999), undefined)
  t.equal(getStanding(world.state, 999, leaseId), undefined)
  t.end()
})

t.test('a summary is the task without what may be large', (t) => {
  const world = new World()
  const { taskId } = world.leased({ requestId: 'r' })
  world.complete(taskId, { result: Buffer.from('done') })
  const { payload, result, attempts, ...summary } = world.task(taskId)
  t.strictSame(getSummary(world.state, taskId), summary)
  t.equal(getSummary(world.state, 999), undefined)
  t.equal(viewPayload(world.state, taskId), undefined)
  t.equal(viewPayload(world.state, 999), undefined)
  t.strictSame(
    viewPayload(world.state, world.create({ payload: Buffer.from('p') })),
    Buffer.from('p'),
  )
  t.strictSame([hasTask(world.state, taskId), hasTask(world.state, 999)], [true, false])
  t.end()
})

t.test('tasks are listed in the order of their ids, from any id on', (t) => {
  const world = new World()
  const tasks = [1, 2, 3].map(() => world.leased().taskId)
  world.complete(tasks[0] ?? 0)
  const ids = (from?: number) => [...listTasks(world.state, from)].map(({ taskId }) => taskId)
  t.strictSame(ids(), tasks)
  t.strictSame(ids(tasks[1]), tasks.slice(1))
  t.strictSame(ids((tasks[1] ?? 0) + 1), tasks.slice(2))
  t.strictSame(ids(100_000), [])
  t.end()
})

t.test(
  'the same submission is told from another one, before and after the payload is gone',
  (t) => {
    const world = new World()
    const retryPolicy: RetryPolicy = {
      maxRetries: 2,
      backoff: { kind: 'exponential', initialMs: 1, maxMs: 9 },
    }
    const given = { payload: Buffer.from('p'), queue: 'q', executionWindowMs: 7, retryPolicy }
    const taskId = world.create({ ...given, requestId: 'r', notBefore: world.at + 50 })
    const asked = { ...given, notBefore: world.at + 50 }
    const { retryPolicy: _, executionWindowMs: __, notBefore: ___, ...bare } = asked
    const check = () => {
      const is = (submission: Submission) => isSameSubmission(world.state, taskId, submission)
      t.equal(is(asked), true)
      t.equal(
        is({ ...bare, delayMs: 50 }),
        true,
        'defaults are not compared, a delay counts from the creation',
      )
      for (const other of [
        { payload: Buffer.from('P') },
        { payload: Buffer.from('') },
        { queue: 'other' },
        { notBefore: world.at },
        { executionWindowMs: 8 },
        { retryPolicy: { ...retryPolicy, maxRetries: 3 } },
        { retryPolicy: { ...retryPolicy, backoff: { kind: 'fixed', delayMs: 1 } } },
        { retryPolicy: { ...retryPolicy, backoff: { ...retryPolicy.backoff, initialMs: 2 } } },
        { retryPolicy: { ...retryPolicy, backoff: { ...retryPolicy.backoff, maxMs: 8 } } },
      ] as Partial<Submission>[]) {
        t.equal(is({ ...asked, ...other }), false, Object.keys(other).join())
      }
      t.equal(is({ ...bare, delayMs: 51 }), false)
      t.equal(is(bare), false, 'it had a not_before')
    }
    check()
    world.at += 50
    world.grant(taskId, { leaseExpiry: world.at + 7 })
    world.complete(taskId)
    world.at -= 50
    check()
    t.equal(isSameSubmission(world.state, 999, asked), false)

    const plain = world.create({
      at: world.at + 50,
      requestId: 's',
      retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 3 } },
    })
    const plainAsked = { payload: Buffer.from('work') }
    t.equal(isSameSubmission(world.state, plain, plainAsked), true)
    t.equal(isSameSubmission(world.state, plain, { ...plainAsked, queue: 'default' }), true)
    t.equal(isSameSubmission(world.state, plain, { ...plainAsked, notBefore: 0 }), false)
    t.equal(isSameSubmission(world.state, plain, { ...plainAsked, delayMs: 0 }), false)
    const fixed = (delayMs: number): RetryPolicy => ({
      maxRetries: 0,
      backoff: { kind: 'fixed', delayMs },
    })
    t.equal(isSameSubmission(world.state, plain, { ...plainAsked, retryPolicy: fixed(3) }), true)
    t.equal(isSameSubmission(world.state, plain, { ...plainAsked, retryPolicy: fixed(4) }), false)
    t.end()
  },
)

t.test('what may be forgotten: by age, by number, a bounded number at once', (t) => {
  const world = new World()
  const ends = [0, 0, 10, 20, 30].map((after) => {
    const taskId = world.create()
    world.at += after
    return world.kill(taskId)
  })
  const start = world.at - 60
  const through = (endedUntil: number, keep: number, limit: number) =>
    forgettableThrough(world.state, { endedUntil: start + endedUntil, keep, limit })
  t.equal(through(-1, 5, 100), undefined)
  t.equal(through(0, 5, 100), ends[1])
  t.equal(through(10, 5, 100), ends[2])
  t.equal(through(-1, 2, 100), ends[2])
  t.equal(through(-1, 0, 100), ends[4])
  t.equal(through(60, 5, 2), ends[1])
  t.equal(forgettableThrough(new World().state, { endedUntil: 1, keep: 0, limit: 1 }), undefined)
  t.end()
})

t.test('apply takes LSNs only, up to the last one there is', (t) => {
  const world = new World()
  for (const lsn of [0, -1, 1.5, Number.NaN, 2 ** 53, '1' as never, undefined as never]) {
    const code = 'STATE_BAD_ARGUMENT'
    t.throws(() => world.applyAt(lsn, world.creation()), { code })
  }
  skipTo(world.state, Number.MAX_SAFE_INTEGER)
  const taskId = world.create()
  t.equal(taskId, Number.MAX_SAFE_INTEGER)
  const record = { type: 'TaskDead', at: world.at, taskId, reason: '' } as const
  t.throws(() => world.applyAt(2 ** 53, record), { code: 'STATE_BAD_ARGUMENT' })
  t.throws(() => skipTo(world.state, 2 ** 53), { code: 'STATE_BAD_ARGUMENT' })
  t.equal(world.task(taskId).state, 'WAITING')
  t.end()
})

t.test('what is no LSN names no task and no lease', (t) => {
  const world = new World()
  // A block of the index that is full has no free place at which a search could stop.
  for (let i = 0; i < 8200; i++) world.create()
  for (const none of [5000.5, Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 2 ** 53, '5' as never]) {
    t.equal(getTask(world.state, none), undefined)
    t.equal(getLease(world.state, none), undefined)
  }
  t.end()
})

t.test('whoever goes through a line may apply records meanwhile', (t) => {
  const world = new World()
  const tasks = [1, 2, 3, 4].map(() => world.leased().taskId)
  for (const taskId of leasedTasks(world.state)) world.expire(taskId)
  t.strictSame(leasedTasks(world.state), [])
  t.strictSame(waitingTasks(world.state, 'default'), tasks)
  for (const taskId of waitingTasks(world.state, 'default')) {
    world.grant(taskId)
    world.fail(taskId)
  }
  t.strictSame(waitingTasks(world.state, 'default'), tasks)
  world.at += 500
  for (const taskId of waitingTasks(world.state, 'default')) {
    world.grant(taskId)
    world.complete(taskId)
  }
  for (const taskId of endedTasks(world.state)) {
    if (getTask(world.state, taskId) !== undefined) world.forget(world.nextLsn - 1)
  }
  t.strictSame([endedTasks(world.state), waitingTasks(world.state, 'none')], [[], []])
  t.end()
})

t.test('a list of tasks goes on while tasks come and go', (t) => {
  const world = new World()
  const tasks = Array.from({ length: 10_000 }, () => world.create())
  const seen: number[] = []
  for (const { taskId } of listTasks(world.state)) {
    seen.push(taskId)
    if (taskId % 3 !== 1 || taskId > 9000) continue
    // The next one goes; one comes in its row, and is no task of that number.
    world.kill(taskId + 1)
    world.forget(world.nextLsn - 1)
    world.create()
  }
  const old = seen.filter((taskId) => taskId <= tasks.length)
  t.strictSame(
    old,
    tasks.filter((taskId) => taskId % 3 !== 2 || taskId > 9001),
  )
  t.ok(seen.every((taskId, index) => index === 0 || taskId > (seen[index - 1] ?? 0)))
  checkInvariants(world.state)
  t.end()
})

t.test('what may be forgotten is found without walking along the line', (t) => {
  const world = new World()
  for (let i = 0; i < 1000; i++) world.kill(world.create())
  const { tasks } = world.state.authoritative
  let looks = 0
  const get = tasks.due.get.bind(tasks.due)
  tasks.due.get = (row) => {
    looks++
    return get(row)
  }
  const through = forgettableThrough(world.state, { endedUntil: world.at, keep: 0, limit: 10 })
  t.equal(through, 20)
  t.ok(looks <= 20, `${looks} looks at a task`)
  t.end()
})

t.test('a record for whose bytes there is no room changes nothing', (t) => {
  const records: [name: string, adds: number, prepare: (world: World) => () => void][] = [
    ['TaskCreated', 1, (world) => () => world.create({ requestId: 'r' })],
    [
      'TaskCompleted',
      3,
      (world) => {
        const { taskId } = world.leased({ requestId: 'r' })
        return () => world.complete(taskId, { result: Buffer.from('done'), reportId: 'p' })
      },
    ],
    [
      'TaskFailed',
      2,
      (world) => {
        const { taskId } = world.leased()
        return () => world.fail(taskId, { reportId: 'p' })
      },
    ],
    [
      'TaskDead',
      1,
      (world) => {
        const taskId = world.create()
        return () => world.kill(taskId)
      },
    ],
  ]
  for (const [name, adds, prepare] of records) {
    for (let room = 0; room < adds; room++) {
      const world = new World()
      const work = prepare(world)
      const { blobs } = world.state.authoritative
      const before = hashState(world.state)
      const add = blobs.add.bind(blobs)
      let left = room
      blobs.add = (length) => {
        if (left-- === 0) throw new Error('no room')
        return add(length)
      }
      t.throws(work, { message: 'no room' }, `${name} with room for ${room}`)
      blobs.add = add
      t.equal(hashState(world.state), before)
      checkInvariants(world.state)
      work()
      checkInvariants(world.state)
    }
  }
  t.end()
})

t.test(
  'a task that ended while it was withheld keeps its place in the line of ended tasks',
  (t) => {
    const world = new World()
    const tasks = [1, 2, 3].map(() => world.leased().taskId)
    for (const taskId of tasks) withhold(world.state, taskId)
    for (const taskId of tasks) world.complete(taskId)
    for (const taskId of tasks) release(world.state, taskId)
    t.equal(world.state.derived.ended.heaped, 0)
    t.strictSame(endedTasks(world.state), tasks)
    checkInvariants(world.state)
    t.end()
  },
)

t.test('a queue costs nothing when its last task is forgotten', (t) => {
  const world = new World()
  const lines = () => world.state.derived.waiting.filter((line) => line !== undefined).length
  for (let i = 0; i < 100; i++) world.create({ queue: `queue ${i}` })
  t.equal(lines(), 100)
  for (let i = 1; i <= 100; i++) world.kill(i)
  t.equal(lines(), 100, 'their tasks still name them')
  world.forget(world.nextLsn - 1)
  t.equal(lines(), 0)
  const taskId = world.create({ queue: 'queue 7' })
  t.equal(nextEligible(world.state, ['queue 7'], world.at), taskId)
  t.equal(lines(), 1)
  t.equal(world.state.derived.waiting.length, 101, 'numbers of queues are used again')
  checkInvariants(world.state)
  t.end()
})

t.test('an option that is none is refused by name', (t) => {
  for (const hashKey of [Number.NaN, -1, 0.5, 2 ** 53, 'x' as never, null as never]) {
    const message = /^hashKey is .*; it must be a whole number from 0 to 2\^53 - 1$/
    t.throws(() => createState({ hashKey }), { code: 'STATE_BAD_ARGUMENT', message })
  }
  for (const hashKey of [0, 1, 2 ** 53 - 1]) t.doesNotThrow(() => createState({ hashKey }))
  t.end()
})

t.test('tasks whose leases expired again and again are found, those that wait', (t) => {
  const world = new World()
  const expire = (times: number) => {
    const taskId = world.create()
    for (let time = 0; time < times; time++) {
      world.grant(taskId)
      world.expire(taskId)
    }
    return taskId
  }
  const [three, once, two, leased] = [expire(3), expire(1), expire(2), expire(5)]
  world.grant(leased)
  t.strictSame(expiredInARow(world.state, 2), [three, two])
  t.strictSame(expiredInARow(world.state, 1), [three, once, two])
  t.strictSame(expiredInARow(world.state, 6), [])
  t.end()
})

t.test('narrow views of a task say what the whole one says', (t) => {
  const world = new World()
  const taskId = world.create({ queue: 'mail', executionWindowMs: 70_000, notBefore: world.at + 5 })
  t.strictSame(getTaskState(world.state, taskId), { state: 'WAITING', eligibleAt: world.at + 5 })
  t.strictSame(getOffer(world.state, taskId), { attempt: 0, executionWindowMs: 70_000 })
  t.equal(getCurrentLeaseId(world.state, taskId), undefined)
  t.equal(getQueue(world.state, taskId), 'mail')
  world.at += 5
  const leaseId = world.grant(taskId)
  t.strictSame(getTaskState(world.state, taskId), { state: 'LEASED' })
  t.strictSame(getOffer(world.state, taskId), { attempt: 1, executionWindowMs: 70_000 })
  t.equal(getCurrentLeaseId(world.state, taskId), leaseId)
  for (const view of [getTaskState, getOffer, getCurrentLeaseId, getQueue])
    t.equal(view(world.state, 99), undefined)
  t.end()
})
