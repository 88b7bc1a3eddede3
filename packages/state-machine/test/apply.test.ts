import type { RetryPolicy } from '@tenure/options'
import {
  apply,
  checkInvariants,
  countTasks,
  createState,
  findByRequestId,
  getCounters,
  getLease,
  getTask,
  hashState,
  skipTo,
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

t.test('TaskCreated: not_before delays eligibility, and a time in the past does not', (t) => {
  const world = new World()
  const later = world.create({ notBefore: world.at + 1 })
  const past = world.create({ notBefore: 5 })
  t.match(world.task(later), { state: 'WAITING', notBefore: 1_000_001, eligibleAt: 1_000_001 })
  t.match(world.task(past), { state: 'WAITING', notBefore: 5, eligibleAt: 1_000_000 })
  t.end()
})

t.test('TaskCreated: the state shares no bytes with the record', (t) => {
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
  t.equal(task.workerId, 'w-7')
  t.strictSame(task.attempts, [
    {
      attempt: 1,
      leaseId,
      workerId: 'w-7',
      grantedAt: 1_000_005,
      leaseExpiry: 1_010_005,
      outcome: 'OPEN',
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

t.test('LeaseGranted: a lease can last until the end of the execution window', (t) => {
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

t.test(
  'LeaseExpired: the task is WAITING again, eligible immediately, and uses up no retry',
  (t) => {
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
  },
)

t.test('LeaseExpired: consecutive expiries are counted, but not those found at startup', (t) => {
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
  const { taskId: other } = world.leased()
  world.expire(other)
  world.grant(other)
  world.complete(other)
  t.equal(world.task(other).expiriesInARow, 0, 'either report does')
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

t.test('TaskCompleted: an empty result differs from an absent one', (t) => {
  const world = new World()
  const [empty, none] = [world.leased().taskId, world.leased().taskId]
  world.complete(empty, { result: new Uint8Array() })
  world.complete(none)
  t.strictSame(world.task(empty).result, new Uint8Array())
  t.notOk('result' in world.task(none))
  t.end()
})

t.test('TaskCompleted: the reason of an earlier failure is removed', (t) => {
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

t.test('an exponential backoff doubles up to its maximum', (t) => {
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

t.test('TaskCancelled: no task state changes, and the report is counted', (t) => {
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

t.test('TaskCancelled: also for a superseded lease and for a DEAD task', (t) => {
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
  'TasksForgotten: exactly the terminal tasks that ended at or before the LSN are removed',
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

t.test('TasksForgotten: an LSN before every end removes nothing', (t) => {
  const world = new World()
  const { taskId } = world.leased()
  world.complete(taskId)
  world.forget(2)
  t.equal(world.task(taskId).state, 'COMPLETED')
  t.end()
})

t.test('a task remembers its last 32 attempts; an older lease is unknown', (t) => {
  const world = new World()
  const taskId = world.create()
  const attemptsKept = 32
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

t.test('each counter counts exactly its own records', (t) => {
  const world = new World()
  const times = (count: number, does: () => void) => {
    for (let done = 0; done < count; done++) does()
  }
  const leased = (maxRetries = 0) =>
    world.leased({ retryPolicy: { maxRetries, backoff: { kind: 'fixed', delayMs: 0 } } })
  const expired = (atStart = false) => {
    const lease = leased()
    world.expire(lease.taskId, { atStart })
    return lease
  }
  const complete = () => world.complete(leased().taskId)

  times(12, () => world.kill(world.create()))
  times(3, complete)
  world.forget(world.nextLsn - 1)
  times(5, complete)
  times(4, () => world.fail(leased().taskId))
  times(6, () => world.fail(leased(1).taskId))
  const { leaseId } = leased()
  const expiry = world.at + 10_000
  for (let later = 1; later <= 9; later++) world.extend(leaseId, expiry + later)
  times(5, () => world.grant(expired().taskId))
  times(8, () => {
    const { taskId, leaseId } = expired()
    world.cancel(taskId, leaseId)
  })
  times(2, () => {
    const { taskId, leaseId } = expired()
    world.grant(taskId)
    world.cancel(taskId, leaseId)
  })
  expired(true)

  const counters = getCounters(world.state)
  t.strictSame(counters, {
    tasksCreated: 47,
    leasesGranted: 42,
    leasesExtended: 9,
    leasesExpired: 16,
    leasesExpiredAtStart: 1,
    tasksCompleted: 8,
    retries: 6,
    tasksFailed: 4,
    tasksDead: 12,
    tasksForgotten: 15,
    possibleDuplicates: 7,
    confirmedDuplicates: 2,
    refusedReports: 10,
  })
  const values = Object.values(counters)
  t.equal(new Set(values).size, values.length, 'all values differ')
  checkInvariants(world.state)
  t.end()
})

t.test(
  'a duplicate is confirmed once for each attempt that expired, was followed by another one, and reported',
  (t) => {
    const counted = (does: (world: World, taskId: number, leaseId: number) => void) => {
      const world = new World()
      const { taskId, leaseId } = world.leased()
      does(world, taskId, leaseId)
      checkInvariants(world.state)
      const { confirmedDuplicates, refusedReports } = getCounters(world.state)
      return { confirmedDuplicates, refusedReports }
    }
    const cases: [
      what: string,
      confirmed: number,
      refused: number,
      does: Parameters<typeof counted>[0],
    ][] = [
      [
        'it expired, was followed by another one, and reported',
        1,
        1,
        (world, taskId, leaseId) => {
          world.expire(taskId)
          world.grant(taskId)
          world.cancel(taskId, leaseId)
        },
      ],
      [
        'it reported after the other one had completed the task',
        1,
        1,
        (world, taskId, leaseId) => {
          world.expire(taskId)
          world.grant(taskId)
          world.complete(taskId)
          world.cancel(taskId, leaseId)
        },
      ],
      [
        'it reported first and was followed by another one then',
        1,
        1,
        (world, taskId, leaseId) => {
          world.expire(taskId)
          world.cancel(taskId, leaseId)
          world.grant(taskId)
          world.expire(taskId)
          world.grant(taskId)
        },
      ],
      [
        'two attempts of one task count twice',
        2,
        2,
        (world, taskId, leaseId) => {
          world.expire(taskId)
          const second = world.grant(taskId)
          world.expire(taskId)
          world.cancel(taskId, second)
          world.grant(taskId)
          world.cancel(taskId, leaseId)
        },
      ],
      [
        'it never reported',
        0,
        0,
        (world, taskId) => {
          world.expire(taskId)
          world.grant(taskId)
          world.complete(taskId)
        },
      ],
      [
        'no other worker was ever granted the task',
        0,
        1,
        (world, taskId, leaseId) => {
          world.expire(taskId)
          world.cancel(taskId, leaseId)
          world.kill(taskId)
        },
      ],
      [
        'it ended with the death of its task',
        0,
        1,
        (world, taskId, leaseId) => {
          world.kill(taskId)
          world.cancel(taskId, leaseId)
        },
      ],
      [
        'the other one ended with the death of the task',
        1,
        2,
        (world, taskId, leaseId) => {
          world.expire(taskId)
          const second = world.grant(taskId)
          world.kill(taskId)
          world.cancel(taskId, second)
          world.cancel(taskId, leaseId)
        },
      ],
      [
        'it reported a failure in time and was followed by a retry',
        0,
        0,
        (world, taskId) => {
          world.fail(taskId)
          world.at += 500
          world.grant(taskId)
        },
      ],
    ]
    for (const [what, confirmedDuplicates, refusedReports, does] of cases) {
      t.strictSame(counted(does), { confirmedDuplicates, refusedReports }, what)
    }
    t.end()
  },
)

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

t.test('apply rejects a malformed record and changes nothing', (t) => {
  const world = new World()
  const { taskId } = world.leased()
  const record = { ...world.granting(taskId), attempt: Number.NaN }
  const before = hashState(world.state)
  t.throws(() => world.apply(record), { code: 'STATE_MALFORMED_RECORD' })
  t.equal(hashState(world.state), before)
  t.doesNotThrow(() => checkInvariants(world.state))
  t.throws(() => apply(createState(), 1, { type: 'TaskPaused' } as never), {
    code: 'STATE_UNKNOWN_RECORD',
  })
  t.end()
})

t.test('apply accepts only LSNs, up to the largest one', (t) => {
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

t.test('a record that does not fit into the blobs changes nothing', (t) => {
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

t.test('a record that does not fit into the rows changes nothing', (t) => {
  const world = new World()
  const { tasks, attempts } = world.state.authoritative
  const waiting = world.create()
  for (const [rows, work] of [
    [tasks, () => world.create({ requestId: 'r' })],
    [attempts, () => world.grant(waiting)],
  ] as const) {
    const before = [hashState(world.state), countTasks(world.state)]
    const makeRoom = rows.makeRoom.bind(rows)
    rows.makeRoom = () => {
      throw new Error('no room')
    }
    t.throws(work, { message: 'no room' })
    rows.makeRoom = makeRoom
    t.strictSame([hashState(world.state), countTasks(world.state)], before)
    checkInvariants(world.state)
    work()
    checkInvariants(world.state)
  }
  t.end()
})

t.test('a bad option is rejected by name', (t) => {
  for (const hashKey of [Number.NaN, -1, 0.5, 2 ** 53, 'x' as never, null as never]) {
    const message = /^hashKey is .*; it must be a whole number from 0 to 2\^53 - 1$/
    t.throws(() => createState({ hashKey }), { code: 'STATE_BAD_ARGUMENT', message })
  }
  for (const hashKey of [0, 1, 2 ** 53 - 1]) t.doesNotThrow(() => createState({ hashKey }))
  t.end()
})
