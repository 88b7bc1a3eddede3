import type { Answer } from '@tenure/protocol'
import { getTask } from '@tenure/state-machine'
import t from 'tap'
import { client, otherWorker, World, worker } from './world.js'

t.test('submit → lease → heartbeat → complete: the life of a task', async (t) => {
  const world = await World.started()
  const taskId = await world.submit({ payload: Buffer.from('the work'), queue: 'mail' })
  world.coordinator.join(worker, 2)
  const leased = await world.lease(worker, ['mail', 'other'])
  t.match(leased, { taskId, attempt: 1, queue: 'mail', payload: Buffer.from('the work') })
  t.match(leased, { heldMs: 0, leaseMs: 30_000, windowMs: 3_600_000 })
  const { leaseId } = leased
  await world.clock.advance(10_000)
  const extended = await world.expect('extended', { kind: 'heartbeat', taskId, leaseId }, worker)
  t.match(extended, {
    leaseMs: 30_000,
    windowMs: 3_590_000,
    leaseExpiry: leased.leaseExpiry + 10_000,
  })
  const result = Buffer.from('done')
  const committed = await world.ask({ kind: 'complete', taskId, leaseId, result }, worker)
  t.match(committed, { kind: 'committed', state: 'COMPLETED' })
  const found = await world.expect('task', { kind: 'get', taskId })
  t.match(found.task, { state: 'COMPLETED', result: Uint8Array.from(result) })
  await world.check()
  await world.stop()
})

t.test('semantics §6: the answer to a report, row by row', async (t) => {
  const report = (
    world: World,
    taskId: number,
    leaseId: number,
    more: object = {},
    session = worker,
  ) => world.ask({ kind: 'complete', taskId, leaseId, ...more }, session)

  t.test('the task never existed: REJECTED UNKNOWN_TASK', async (t) => {
    const world = await World.started()
    t.match(await report(world, 7, 8), { kind: 'rejected', reason: 'UNKNOWN_TASK' })
  })

  t.test('the task was forgotten: REJECTED UNKNOWN_TASK', async (t) => {
    const world = await World.started({ retentionMs: 1000 })
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    await report(world, taskId, leaseId, { reportId: 'p' })
    await world.clock.advance(1000)
    world.coordinator.tidy()
    await world.clock.settle()
    t.match(await report(world, taskId, leaseId, { reportId: 'p' }), { reason: 'UNKNOWN_TASK' })
    await world.check()
  })

  t.test('that lease was never granted for that task: REJECTED UNKNOWN_LEASE', async (t) => {
    const world = await World.started()
    await world.submit()
    await world.submit()
    const [one, two] = [await world.lease(), await world.lease()]
    t.match(await report(world, one.taskId, two.leaseId), { reason: 'UNKNOWN_LEASE' })
    t.match(await report(world, one.taskId, 999), { reason: 'UNKNOWN_LEASE' })
  })

  t.test('the lease belongs to another worker: REJECTED WRONG_WORKER', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    t.match(await report(world, taskId, leaseId, {}, otherWorker), { reason: 'WRONG_WORKER' })
    t.match(await report(world, taskId, leaseId), { kind: 'committed' })
  })

  t.test('the lease is current and valid: COMMITTED, with the new state of the task', async (t) => {
    const retryPolicy = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 700 } } as const
    const world = await World.started()
    await world.submit({ retryPolicy })
    const { taskId, leaseId } = await world.lease()
    const failed = await world.ask({ kind: 'fail', taskId, leaseId, reason: 'no' }, worker)
    t.match(failed, { kind: 'committed', state: 'WAITING', eligibleAt: 1_700_000_000_700 })
    await world.clock.advance(700)
    const again = await world.lease()
    t.equal(again.attempt, 2)
    const ended = await world.ask(
      { kind: 'fail', taskId, leaseId: again.leaseId, reason: 'no' },
      worker,
    )
    t.strictSame({ ...ended, id: 0 }, { kind: 'committed', id: 0, state: 'FAILED' })
  })

  t.test('the same report sent again: the same COMMITTED, and no record', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    const first = await report(world, taskId, leaseId, { reportId: 'p' })
    const lsn = world.log.nextLsn
    t.strictSame(
      { ...(await report(world, taskId, leaseId, { reportId: 'p' })), id: 0 },
      { ...first, id: 0 },
    )
    t.equal(world.log.nextLsn, lsn)
  })

  t.test(
    'a failure report sent again gets its answer again, whatever happened to the task since',
    async (t) => {
      const world = await World.started()
      const backoff = { kind: 'exponential', initialMs: 700, maxMs: 5000 } as const
      await world.submit({ retryPolicy: { maxRetries: 2, backoff } })
      const reports: [Extract<Parameters<World['ask']>[0], { kind: 'fail' }>, Answer][] = []
      for (const state of ['WAITING', 'WAITING', 'FAILED'] as const) {
        const { taskId, leaseId } = await world.lease()
        const fail = { kind: 'fail', taskId, leaseId, reason: 'no', reportId: 'p' } as const
        for (const [earlier, answer] of reports) {
          t.match(await world.ask(earlier, worker), { ...answer, id: Number })
        }
        const answer = await world.ask(fail, worker)
        t.match(answer, { kind: 'committed', state })
        reports.push([fail, answer])
        await world.clock.advance(5000)
      }
      for (const [earlier, answer] of reports) {
        t.strictSame({ ...(await world.ask(earlier, worker)), id: 0 }, { ...answer, id: 0 })
      }
    },
  )

  t.test('another report under the same lease: REJECTED DUPLICATE_REPORT', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    await report(world, taskId, leaseId, { reportId: 'p' })
    const duplicate = {
      kind: 'rejected',
      reason: 'DUPLICATE_REPORT',
      message: /already reported COMPLETED/,
    }
    t.match(await report(world, taskId, leaseId, { reportId: 'q' }), duplicate)
    t.match(await report(world, taskId, leaseId), duplicate)
    const fail = { kind: 'fail', taskId, leaseId, reason: 'no', reportId: 'p' } as const
    t.match(await world.ask(fail, worker), duplicate)
  })

  t.test('the same report_id with another result: REJECTED DUPLICATE_REPORT', async (t) => {
    const [some, other] = [Buffer.from('a'), Buffer.from('b')]
    const cases = [
      [some, other],
      [some, Buffer.alloc(0)],
      [some, undefined],
      [Buffer.alloc(0), undefined],
      [undefined, Buffer.alloc(0)],
    ] as const
    for (const [first, second] of cases) {
      const world = await World.started()
      await world.submit()
      const { taskId, leaseId } = await world.lease()
      const asReport = (result: Buffer | undefined) => ({
        reportId: 'p',
        result,
      })
      const committed = { kind: 'committed', state: 'COMPLETED' }
      t.match(await report(world, taskId, leaseId, asReport(first)), committed)
      const lsn = world.log.nextLsn
      t.match(
        await report(world, taskId, leaseId, asReport(first)),
        committed,
        'the same report again',
      )
      t.match(await report(world, taskId, leaseId, asReport(second)), {
        kind: 'rejected',
        reason: 'DUPLICATE_REPORT',
        message: /already reported COMPLETED with this report_id and another result/,
      })
      t.equal(world.log.nextLsn, lsn, 'nothing is written')
      const { task } = await world.expect('task', { kind: 'get', taskId })
      t.strictSame(task.result, first && Uint8Array.from(first), 'the first result is kept')
    }
  })

  t.test('the same report_id with another failure reason: the same COMMITTED', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    const fail = { kind: 'fail', taskId, leaseId, reason: 'no', reportId: 'p' } as const
    const first = await world.ask(fail, worker)
    const lsn = world.log.nextLsn
    const again = await world.ask({ ...fail, reason: 'never' }, worker)
    t.strictSame({ ...again, id: 0 }, { ...first, id: 0 })
    t.equal(world.log.nextLsn, lsn)
  })

  t.test('a report without a report_id is never recognised as a repetition', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    await report(world, taskId, leaseId)
    t.match(await report(world, taskId, leaseId), { reason: 'DUPLICATE_REPORT' })
  })

  t.test('the lease has expired: CANCELLED, with one TaskCancelled per lease', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    // No alarm has fired: the report itself finds the lease past its expiry.
    world.clock.oversleep(30_000)
    world.applied.length = 0
    const cancelled = await report(world, taskId, leaseId)
    t.strictSame(
      { ...cancelled, id: 0 },
      {
        kind: 'cancelled',
        id: 0,
        reason: 'EXPIRED',
        supersededBy: undefined,
      },
    )
    const records = ['LeaseExpired', 'TaskCancelled']
    t.strictSame(world.applied, records)
    t.match(await report(world, taskId, leaseId), { kind: 'cancelled', reason: 'EXPIRED' })
    t.strictSame(world.applied, records, 'a faulty worker cannot fill the log')
    await world.check()
  })

  t.test('another attempt superseded the lease: CANCELLED, naming that lease', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    await world.clock.advance(30_000)
    const second = await world.lease(otherWorker)
    t.equal(second.taskId, taskId)
    const cancelled = await report(world, taskId, leaseId)
    t.match(cancelled, { kind: 'cancelled', reason: 'SUPERSEDED', supersededBy: second.leaseId })
    t.match(await report(world, taskId, second.leaseId, {}, otherWorker), { kind: 'committed' })
  })

  t.test('the task is DEAD: CANCELLED', async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    await world.ask({ kind: 'kill', taskId, reason: 'stop' })
    t.match(await report(world, taskId, leaseId), { kind: 'cancelled', reason: 'TASK_TERMINAL' })
    const after = await World.started()
    await after.submit()
    const expired = await after.lease()
    await after.clock.advance(30_000)
    await after.ask({ kind: 'kill', taskId: expired.taskId, reason: 'stop' })
    const answer = await report(after, expired.taskId, expired.leaseId)
    t.match(answer, { kind: 'cancelled', reason: 'TASK_TERMINAL' }, 'killed after the expiry')
  })

  t.test('a malformed request: REJECTED MALFORMED', async (t) => {
    const world = await World.started()
    const answers: unknown[] = []
    const malformed = { kind: 'malformed', id: 5, message: 'task_id is missing' } as const
    world.coordinator.handle(malformed, worker, (answer) => answers.push(answer))
    t.match(answers, [
      { kind: 'rejected', id: 5, reason: 'MALFORMED', message: 'task_id is missing' },
    ])
  })
})

t.test('semantics §8: killing a task, by its state', async (t) => {
  const kill = (world: World, taskId: number) => world.ask({ kind: 'kill', taskId, reason: 'stop' })

  t.test('a WAITING or LEASED task is stopped, by one record', async (t) => {
    const world = await World.started()
    const [leased, waiting] = [await world.submit(), await world.submit()]
    await world.lease()
    world.clock.oversleep(29_999)
    world.applied.length = 0
    for (const taskId of [leased, waiting]) {
      t.match(await kill(world, taskId), { kind: 'killed', known: false })
      const { task } = await world.expect('task', { kind: 'get', taskId })
      t.match(task, { state: 'DEAD', reason: 'stop' })
    }
    t.strictSame(world.applied, ['TaskDead', 'TaskDead'])
    await world.check()
  })

  t.test('a lease that is past its expiry expires first', async (t) => {
    const world = await World.started()
    const taskId = await world.submit()
    await world.lease()
    world.clock.oversleep(30_000)
    world.applied.length = 0
    t.match(await kill(world, taskId), { kind: 'killed', known: false })
    t.strictSame(world.applied, ['LeaseExpired', 'TaskDead'])
    await world.check()
  })

  t.test('a DEAD task stays DEAD, and nothing is written', async (t) => {
    const world = await World.started()
    const taskId = await world.submit()
    await kill(world, taskId)
    world.applied.length = 0
    t.match(await kill(world, taskId), { kind: 'killed', known: true })
    t.strictSame(world.applied, [])
  })

  t.test('a COMPLETED or FAILED task is REJECTED TASK_TERMINAL and does not change', async (t) => {
    const world = await World.started()
    const retryPolicy = { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } } as const
    await world.submit({ retryPolicy })
    await world.submit({ retryPolicy })
    const [one, two] = [await world.lease(), await world.lease()]
    await world.ask({ kind: 'complete', taskId: one.taskId, leaseId: one.leaseId }, worker)
    const { taskId, leaseId } = two
    await world.ask({ kind: 'fail', taskId, leaseId, reason: 'no' }, worker)
    world.applied.length = 0
    const refused = { kind: 'rejected', reason: 'TASK_TERMINAL' }
    t.match(await kill(world, one.taskId), { ...refused, message: /is COMPLETED$/ })
    t.match(await kill(world, taskId), { ...refused, message: /is FAILED$/ })
    t.strictSame(world.applied, [])
  })

  t.test('a task that never existed is REJECTED UNKNOWN_TASK', async (t) => {
    const world = await World.started()
    t.match(await kill(world, 7), { kind: 'rejected', reason: 'UNKNOWN_TASK' })
  })
})

t.test(
  'a heartbeat that finds its lease past expiry is answered after LeaseExpired is applied',
  async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    world.clock.jump(60_000)
    t.match(
      await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker),
      { kind: 'extended' },
      'a clock jump does not count as time',
    )
    await world.clock.advance(29_999)
    t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), { kind: 'extended' })
    // No alarm has fired: the heartbeat itself finds the lease past its expiry.
    world.clock.oversleep(30_000)
    world.applied.length = 0
    const late = world.send({ kind: 'heartbeat', taskId, leaseId }, worker)
    t.strictSame(late, [], 'no answer before the record is durable')
    await world.clock.settle()
    t.match(late, [{ kind: 'rejected', reason: 'EXPIRED' }])
    t.strictSame(world.applied, ['LeaseExpired'])
    const second = await world.lease(otherWorker)
    t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), {
      reason: 'SUPERSEDED',
    })
    await world.ask({ kind: 'complete', taskId, leaseId: second.leaseId }, otherWorker)
    t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId: second.leaseId }, otherWorker), {
      reason: 'REPORTED',
    })
  },
)

t.test('a heartbeat that extends nothing is OK and writes nothing', async (t) => {
  const world = await World.started()
  await world.submit({ executionWindowMs: 40_000 })
  const { taskId, leaseId } = await world.lease()
  const lsn = world.log.nextLsn
  t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), {
    kind: 'extended',
    leaseMs: 30_000,
  })
  t.equal(world.log.nextLsn, lsn)
  await world.clock.advance(20_000)
  t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), {
    leaseMs: 20_000,
    windowMs: 20_000,
  })
  await world.clock.advance(10_000)
  t.match(
    await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker),
    { leaseMs: 10_000 },
    'the window is used up',
  )
  t.equal(world.log.nextLsn, lsn + 1)
})

t.test(
  'a repeated request_id returns the same task, or CONFLICT if payload or options differ',
  async (t) => {
    const world = await World.started()
    const submit = {
      kind: 'submit',
      payload: Buffer.from('p'),
      requestId: 'r',
      delayMs: 5,
    } as const
    const both = [world.send(submit), world.send(submit)]
    await world.clock.settle()
    t.match(both, [
      [{ kind: 'submitted', taskId: 1, known: false }],
      [{ kind: 'submitted', taskId: 1, known: true }],
    ])
    await world.clock.advance(100)
    t.match(await world.ask(submit), { taskId: 1, known: true })
    t.match(await world.ask({ ...submit, payload: Buffer.from('q') }), { reason: 'CONFLICT' })
    t.match(await world.ask({ ...submit, queue: 'other' }), { reason: 'CONFLICT' })
    await world.crash()
    t.match(await world.ask(submit), { taskId: 1, known: true }, 'also after a restart')
  },
)

t.test('semantics §9: the options that make a repeated request_id a CONFLICT', async (t) => {
  const payload = Buffer.from('p')
  const fixed = (maxRetries: number, delayMs: number) => {
    return { maxRetries, backoff: { kind: 'fixed', delayMs } } as const
  }
  const defaults = { retryPolicy: fixed(3, 50), executionWindowMs: 9000 }
  const given = { retryPolicy: fixed(1, 70), executionWindowMs: 8000 }
  const startMs = 1_700_000_000_000
  const cases: [what: string, first: object, second: object, isSame: boolean][] = [
    ['another payload', {}, { payload: Buffer.from('q') }, false],
    ['a queue left out is default', {}, { queue: 'default' }, true],
    ['default is a queue left out', { queue: 'default' }, {}, true],
    ['another queue', { queue: 'mail' }, { queue: 'default' }, false],
    ['a queue left out is no other queue', { queue: 'mail' }, {}, false],
    ['a delay of 0 is none', {}, { delayMs: 0 }, true],
    ['no delay is a delay of 0', { delayMs: 0 }, {}, true],
    ['a delay of 0 given twice', { delayMs: 0 }, { delayMs: 0 }, true],
    ['the same delay', { delayMs: 500 }, { delayMs: 500 }, true],
    ['another delay', { delayMs: 500 }, { delayMs: 501 }, false],
    ['a delay left out is none', { delayMs: 500 }, {}, false],
    ['a delay of 0 is not another one', { delayMs: 500 }, { delayMs: 0 }, false],
    ['a delay is the time that it came to', { delayMs: 500 }, { notBefore: startMs + 500 }, true],
    ['the same not_before', { notBefore: 5 }, { notBefore: 5 }, true],
    ['another not_before', { notBefore: 5 }, { notBefore: 6 }, false],
    ['a not_before left out is none', { notBefore: 5 }, {}, false],
    ['a not_before that was not given', {}, { notBefore: 5 }, false],
    ['the same window and retries', given, given, true],
    ['window and retries left out later are not compared', given, {}, true],
    ['window and retries given later, as they were recorded', {}, defaults, true],
    ['another window', given, { executionWindowMs: 7999 }, false],
    ['a window that was not recorded', {}, { executionWindowMs: 8000 }, false],
    ['other retries', given, { retryPolicy: fixed(2, 70) }, false],
    ['retries that were not recorded', {}, { retryPolicy: fixed(1, 50) }, false],
  ]
  for (const [what, first, second, isSame] of cases) {
    const world = await World.started(defaults)
    const submit = { kind: 'submit', payload, requestId: 'r' } as const
    t.match(await world.ask({ ...submit, ...first }), { kind: 'submitted', known: false })
    const lsn = world.log.nextLsn
    await world.clock.advance(100)
    const answer = isSame ? { taskId: 1, known: true } : { kind: 'rejected', reason: 'CONFLICT' }
    t.match(await world.ask({ ...submit, ...second }), answer, what)
    t.equal(world.log.nextLsn, lsn)
  }
})

t.test('a delay of 0 records no not_before', async (t) => {
  const world = await World.started()
  await world.submit({ delayMs: 0 })
  const { task } = await world.expect('task', { kind: 'get', taskId: 1 })
  t.notOk('notBefore' in task)
  t.equal(task.eligibleAt, task.createdAt)
})

t.test('limits of a submission', async (t) => {
  const world = await World.started({ payloadBytesMax: 10, waitingTasksMax: 2 })
  t.match(await world.ask({ kind: 'submit', payload: Buffer.alloc(11) }), {
    reason: 'TOO_LARGE',
    message: /11 bytes; the maximum is 10/,
  })
  await world.submit({ payload: Buffer.alloc(10) })
  await world.submit()
  t.match(await world.ask({ kind: 'submit', payload: Buffer.alloc(1) }), {
    reason: 'OVERLOADED',
    message: /2 tasks are waiting; the maximum is 2/,
    retryAfterMs: 1000,
  })
  await world.lease()
  await world.submit()
  const bytes = await World.started({ tasksBytesMax: 10 })
  t.match(await bytes.ask({ kind: 'submit', payload: Buffer.alloc(11) }), {
    reason: 'OVERLOADED',
    message: /use 0 bytes; this task would exceed the maximum of 10/,
  })
  const whole = await bytes.ask({ kind: 'submit', payload: Buffer.alloc(10) })
  t.match(whole, { kind: 'submitted' }, 'up to the last byte')
})

t.test('a task has the options of its submission, and the knobs for the others', async (t) => {
  const backoff = { kind: 'fixed', delayMs: 77 } as const
  const knobs = { executionWindowMs: 5000, retryPolicy: { maxRetries: 7, backoff } }
  const world = await World.started(knobs)
  const plain = getTask(world.state, await world.submit())
  t.match(plain, { ...knobs, queue: 'default', eligibleAt: plain?.createdAt })
  t.notOk(plain && 'notBefore' in plain)
  const own = {
    queue: 'mail',
    executionWindowMs: 6000,
    retryPolicy: { maxRetries: 1, backoff: { ...backoff, delayMs: 1 } },
  }
  const notBefore = 1_700_000_000_500
  t.match(getTask(world.state, await world.submit({ ...own, notBefore })), {
    ...own,
    notBefore,
    eligibleAt: notBefore,
  })
  const delayed = getTask(world.state, await world.submit({ delayMs: 300 }))
  t.equal(delayed?.notBefore, 1_700_000_000_300)
})

t.test('a result may have up to resultBytesMax bytes', async (t) => {
  const world = await World.started({ resultBytesMax: 10 })
  await world.submit()
  const { taskId, leaseId } = await world.lease()
  const complete = { kind: 'complete', taskId, leaseId } as const
  t.match(await world.ask({ ...complete, result: Buffer.alloc(11) }, worker), {
    reason: 'TOO_LARGE',
    message: /11 bytes; the maximum is 10/,
  })
  const exactly = await world.ask({ ...complete, result: Buffer.alloc(10) }, worker)
  t.match(exactly, { kind: 'committed' }, 'and its lease was not used up')
})

t.test('a repeated submission is recognised after the limits were lowered', async (t) => {
  const before = await World.started()
  const submission = { kind: 'submit', payload: Buffer.alloc(11), requestId: 'r' } as const
  const submitted = await before.ask(submission)
  const { taskId, leaseId } = await before.lease()
  const report = { kind: 'complete', taskId, leaseId, reportId: 'p' } as const
  const committed = await before.ask({ ...report, result: Buffer.alloc(11) }, worker)
  await before.submit()
  const open = await before.lease()
  await before.stop()

  const after = new World({ payloadBytesMax: 10, resultBytesMax: 10 }, before.disk)
  await after.start()
  const lsn = after.log.nextLsn
  t.match(await after.ask(submission), { ...submitted, id: Number, known: true })
  const again = await after.ask({ ...report, result: Buffer.alloc(11) }, worker)
  t.match(again, { ...committed, id: Number })
  t.match(await after.ask({ ...submission, requestId: 'another' }), { reason: 'TOO_LARGE' })
  const { taskId: openId, leaseId: openLeaseId } = open
  const large = { ...report, taskId: openId, leaseId: openLeaseId, result: Buffer.alloc(11) }
  t.match(await after.ask(large, worker), {
    reason: 'TOO_LARGE',
    message: /11 bytes; the maximum is 10/,
  })
  t.equal(after.log.nextLsn, lsn)
  await after.stop()
})

t.test('bytes of ended tasks count until these tasks are forgotten', async (t) => {
  const world = await World.started({ tasksBytesMax: 100, retentionMs: 1000 })
  await world.submit({ payload: Buffer.alloc(10) })
  const { taskId, leaseId } = await world.lease()
  const complete = { kind: 'complete', taskId, leaseId, result: Buffer.alloc(90) } as const
  t.match(await world.ask(complete, worker), { kind: 'committed' })
  const payload = Buffer.alloc(11)
  t.match(await world.ask({ kind: 'submit', payload }), { reason: 'OVERLOADED' })
  await world.clock.advance(1000)
  world.coordinator.tidy()
  await world.clock.settle()
  t.match(await world.ask({ kind: 'submit', payload }), { kind: 'submitted' })
})

t.test(
  'a task with an in-flight decision is not decided again until that is applied',
  async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    const complete = { kind: 'complete', taskId, leaseId, reportId: 'p' } as const
    const answers = [
      world.send(complete, worker),
      world.send(complete, worker),
      world.send({ kind: 'fail', taskId, leaseId, reason: 'x' }, worker),
      world.send({ kind: 'kill', taskId, reason: 'x' }),
    ]
    t.same(answers, [[], [], [], []], 'no answer before the record is durable')
    await world.clock.settle()
    t.match(answers, [
      [{ kind: 'committed', state: 'COMPLETED' }],
      [{ kind: 'committed', state: 'COMPLETED' }],
      [{ kind: 'rejected', reason: 'DUPLICATE_REPORT' }],
      [{ kind: 'rejected', reason: 'TASK_TERMINAL' }],
    ])
    await world.check()
  },
)

t.test('semantics §5: a lease lasts leaseDurationMs, up to the end of the window', async (t) => {
  const world = await World.started({ leaseDurationMs: 2000 })
  await world.submit({ executionWindowMs: 5000 })
  await world.submit({ executionWindowMs: 1500 })
  const at = 1_700_000_000_000
  const [long, short] = [await world.lease(), await world.lease()]
  t.match(long, { leaseExpiry: at + 2000, leaseMs: 2000, windowEnd: at + 5000, windowMs: 5000 })
  t.match(short, { leaseExpiry: at + 1500, leaseMs: 1500, windowEnd: at + 1500, windowMs: 1500 })
})

t.test(
  'a lease request that does not wait gets the task whose expired lease it finds',
  async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId } = await world.lease()
    world.clock.oversleep(30_000)
    t.match(await world.lease(otherWorker), { taskId, attempt: 2 })
    await world.check()
  },
)

t.test(
  'semantics §1: wall clock jumps affect no decision, and no restart moves time back',
  async (t) => {
    const world = await World.started()
    const created = async () => getTask(world.state, await world.submit())?.createdAt
    const startMs = 1_700_000_000_000
    world.clock.jump(-10_000)
    await world.clock.advance(10)
    t.equal(await created(), startMs + 10)
    await world.stop()
    await world.start()
    t.equal(await created(), startMs + 10)
    await world.clock.advance(10)
    t.equal(await created(), startMs + 20)
    world.clock.jump(60_000)
    await world.stop()
    await world.start()
    t.equal(await created(), startMs + 50_020, 'a wall clock that is ahead counts at startup')
  },
)

t.test('concurrent lease requests each get a different task, in order', async (t) => {
  const world = await World.started()
  const tasks = await Promise.all(Array.from({ length: 50 }, () => world.submit()))
  const answers = Array.from({ length: 60 }, () =>
    world.send({ kind: 'lease', queues: ['default'], waitMs: 0 }, worker),
  )
  await world.clock.settle()
  t.strictSame(
    answers.flat().flatMap((answer) => (answer.kind === 'leased' ? answer.taskId : [])),
    tasks,
  )
  t.equal(answers.flat().filter(({ kind }) => kind === 'empty').length, 10)
  await world.check()
})

t.test('a lease request waits for a task until it times out', async (t) => {
  const world = await World.started()
  const poll = world.send({ kind: 'lease', queues: ['q', 'default'], waitMs: 5000 }, worker)
  await world.clock.advance(4000)
  t.same(poll, [])
  const taskId = await world.submit({ queue: 'q' })
  t.match(poll, [{ kind: 'leased', taskId, heldMs: 4000, leaseMs: 30_000 }])
  const empty = world.send({ kind: 'lease', queues: ['default'], waitMs: 5000 }, worker)
  await world.clock.advance(4999)
  t.same(empty, [])
  await world.clock.advance(1)
  t.match(empty, [{ kind: 'empty' }])
  t.equal(world.coordinator.waitingPolls, 0)
  const patient = world.send({ kind: 'lease', queues: ['default'], waitMs: 90_000 }, worker)
  await world.clock.advance(59_999)
  t.same(patient, [])
  await world.clock.advance(1)
  t.match(patient, [{ kind: 'empty' }], 'and no longer than waitMsMax')
})

t.test(
  'a waiting poll gets a task when it becomes eligible: after a delay, a backoff or an expiry',
  async (t) => {
    const world = await World.started()
    await world.submit({ delayMs: 300 })
    const poll = () => world.send({ kind: 'lease', queues: ['default'], waitMs: 60_000 }, worker)
    const delayed = poll()
    await world.clock.advance(299)
    t.same(delayed, [])
    await world.clock.advance(1)
    t.match(delayed, [{ kind: 'leased', attempt: 1 }])
    const { taskId, leaseId } = delayed[0] as { taskId: number; leaseId: number }
    const retried = poll()
    await world.ask({ kind: 'fail', taskId, leaseId, reason: 'x' }, worker)
    await world.clock.advance(4999)
    t.same(retried, [])
    await world.clock.advance(1)
    t.match(retried, [{ kind: 'leased', attempt: 2 }])
    const expired = poll()
    await world.clock.advance(30_000)
    t.match(expired, [{ kind: 'leased', attempt: 3 }])
    await world.check()
  },
)

t.test('a poll ends when its connection closes or it is withdrawn', async (t) => {
  const world = await World.started()
  const session = { name: 'w1' }
  const gone = world.send({ kind: 'lease', queues: ['default'], waitMs: 9000 }, session)
  world.coordinator.leave(session)
  const kept = world.send({ kind: 'lease', queues: ['default'], waitMs: 9000 }, worker)
  t.match(await world.ask({ kind: 'withdraw', of: 2 }, { name: 'w1' }), { kind: 'withdrawn' })
  t.same(kept, [], 'a request id belongs to its connection')
  t.match(await world.ask({ kind: 'withdraw', of: 2 }, worker), { kind: 'withdrawn' })
  t.match(kept, [{ kind: 'empty' }])
  await world.submit()
  t.same(gone, [])
  t.match(await world.lease(), { attempt: 1 })
})

t.test(
  'a poll that waits for an expiry ends when its connection closes or it is withdrawn',
  async (t) => {
    const world = await World.started()
    await world.submit()
    const session = { name: 'w3' }
    const poll = { kind: 'lease', queues: ['default'], waitMs: 9000 } as const
    // This timer was set before the lease's alarm, so it fires first: no record says yet that the lease is over.
    const polls = new Promise<Answer[][]>((resolve) => {
      world.clock.setTimer(30_000, () => {
        const gone = world.send(poll, session)
        world.coordinator.leave(session)
        const withdrawn = world.send(poll, worker)
        resolve([gone, withdrawn, world.send({ kind: 'withdraw', of: 4 }, worker)])
      })
    })
    await world.lease(otherWorker)
    await world.clock.advance(30_000)
    t.match(await polls, [[], [{ kind: 'empty' }], [{ kind: 'withdrawn' }]])
    t.match(await world.lease(otherWorker), { attempt: 2 })
  },
)

t.test('poison: a task whose leases keep expiring is stopped, visibly', async (t) => {
  const world = await World.started({ poisonThreshold: 3 })
  const taskId = await world.submit()
  for (let attempt = 1; attempt <= 3; attempt++) {
    t.equal((await world.lease()).attempt, attempt)
    await world.clock.advance(30_000)
  }
  const found = await world.expect('task', { kind: 'get', taskId })
  t.match(found.task, { state: 'DEAD', reason: 'poison: 3 leases in a row expired', attempt: 3 })
  await world.check()
})

t.test('without a poison threshold no task is stopped, however many leases expire', async (t) => {
  const world = await World.started({ poisonThreshold: 0 })
  const taskId = await world.submit()
  for (let attempt = 1; attempt <= 50; attempt++) {
    t.equal((await world.lease()).attempt, attempt)
    await world.clock.advance(30_000)
  }
  t.match(getTask(world.state, taskId), { state: 'WAITING', expiriesInARow: 50 })
  await world.stop()
  await world.start()
  t.match(getTask(world.state, taskId), { state: 'WAITING' }, 'nor at startup')
})

t.test(
  'leases that expired during downtime expire before the first request and do not count as poison',
  async (t) => {
    const world = await World.started({ poisonThreshold: 1 })
    const [valid, over] = [await world.submit(), await world.submit({ executionWindowMs: 1000 })]
    const lease = await world.lease()
    await world.lease()
    const counted: string[] = []
    await world.stop()
    await world.clock.advance(2000)
    await world.start({ applied: (record) => counted.push(record.type) })
    t.strictSame(counted, ['LeaseExpired'])
    t.match((await world.expect('task', { kind: 'get', taskId: over })).task, {
      state: 'WAITING',
      expiriesInARow: 0,
    })
    const beat = { kind: 'heartbeat', taskId: valid, leaseId: lease.leaseId } as const
    t.match(
      await world.ask(beat, worker),
      { kind: 'extended' },
      'a lease that is still valid stays valid',
    )
    await world.check()
  },
)

t.test('startup expires all leases that ended during downtime', async (t) => {
  const world = await World.started({ poisonThreshold: 1, executionWindowMs: 1000 })
  const leases = 2500
  for (let count = 0; count < leases; count++) {
    world.send({ kind: 'submit', payload: Buffer.alloc(0) })
    world.send({ kind: 'lease', queues: ['default'], waitMs: 1000 }, worker)
  }
  await world.clock.settle()
  await world.stop()
  await world.clock.advance(2000)
  const atStart: unknown[] = []
  // As on a real machine, a due alarm fires in one of the next turns.
  const { clock } = world
  const setTimer = clock.setTimer.bind(clock)
  clock.setTimer = (delayMs, callback) => {
    if (delayMs > 0) return setTimer(delayMs, callback)
    let isCancelled = false
    clock.soon(() => {
      if (!isCancelled) callback()
    })
    return {
      cancel: () => {
        isCancelled = true
      },
    }
  }
  await world.start({
    applied: (record) => atStart.push(record.type === 'LeaseExpired' && record.atStart),
  })
  await clock.settle()
  t.strictSame(atStart, Array(leases).fill(true))
  await world.check()
})

t.test(
  'a connection that closes while its lease request waits for an expiry gets no task',
  async (t) => {
    const world = await World.started({ executionWindowMs: 1000 })
    const leaver = { name: 'leaver' }
    let answers: Answer[] | undefined
    // This runs before the alarm of the same moment, so the request finds the expiry.
    world.clock.setTimer(1000, () => {
      answers = world.send({ kind: 'lease', queues: ['default'], waitMs: 0 }, leaver)
      world.coordinator.leave(leaver)
    })
    const taskId = await world.submit()
    await world.lease()
    await world.clock.advance(1000)
    t.same(answers, [])
    t.match((await world.expect('task', { kind: 'get', taskId })).task, { state: 'WAITING' })
    t.match(await world.lease(), { taskId, attempt: 2 })
  },
)

t.test('each queue counts towards the memory limit', async (t) => {
  const world = await World.started({ tasksBytesMax: 4 * 512 })
  const delayMs = 60_000
  for (const queue of ['a', 'b', 'c', 'd'])
    await world.submit({ queue, delayMs, payload: Buffer.alloc(0) })
  await world.submit({ queue: 'd', delayMs, payload: Buffer.alloc(0) })
  t.match(await world.ask({ kind: 'submit', queue: 'e', payload: Buffer.alloc(1) }), {
    kind: 'rejected',
    reason: 'OVERLOADED',
    message: /queues use 2048 bytes/,
  })
})

t.test('the registry is advisory: forgetting it changes no outcome', async (t) => {
  const world = await World.started()
  await world.submit()
  await world.submit()
  const { taskId, leaseId } = await world.lease()
  world.registry.clear()
  const other = await world.lease(otherWorker)
  world.registry.clear()
  t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), { kind: 'extended' })
  t.match(await world.ask({ kind: 'complete', taskId, leaseId }, worker), { kind: 'committed' })
  world.registry.clear()
  t.match(
    await world.ask(
      { kind: 'complete', taskId: other.taskId, leaseId: other.leaseId },
      otherWorker,
    ),
    {
      kind: 'committed',
    },
  )
})

t.test(
  'stopping answers waiting polls, completes records in flight, and rejects new requests',
  async (t) => {
    const world = await World.started()
    const poll = world.send({ kind: 'lease', queues: ['q'], waitMs: 9000 }, worker)
    const submitted = world.send({ kind: 'submit', payload: Buffer.from('x') })
    const stopped = world.coordinator.stop()
    t.match(poll, [{ kind: 'empty' }])
    t.match(world.send({ kind: 'ping' }), [{ kind: 'rejected', reason: 'STOPPING' }])
    await stopped
    t.match(submitted, [{ kind: 'submitted' }])
    await world.log.close()
  },
)

t.test('queries: list by state and queue, by page; workers; stats', async (t) => {
  const world = await World.started()
  for (const queue of ['a', 'b', 'a', 'a']) await world.submit({ queue })
  await world.lease(worker, ['a'])
  const list = (more: object) =>
    world.expect('tasks', { kind: 'list', fromTaskId: 1, limit: 2, ...more }, client)
  const first = await list({ queue: 'a' })
  t.match(first, { tasks: [{ taskId: 1, state: 'LEASED' }, { taskId: 3 }], nextTaskId: 4 })
  t.match(await list({ queue: 'a', fromTaskId: 4 }), { tasks: [{ taskId: 4 }] })
  t.equal((await list({ state: 'LEASED' })).tasks.length, 1)
  t.notOk('payload' in (first.tasks[0] ?? {}))
  t.match(await world.ask({ kind: 'workers' }), {
    workers: [{ name: 'w1', leases: 1 }],
  })
  t.match(await world.ask({ kind: 'stats' }), {
    stats: { tasks: { waiting: 3, leased: 1 }, counters: { tasksCreated: 4 } },
  })
  t.match(await world.ask({ kind: 'get', taskId: 99 }), { reason: 'UNKNOWN_TASK' })
})

t.test('queries are answered after the work that arrives with them', async (t) => {
  const world = await World.started()
  const stats = world.send({ kind: 'stats' })
  const list = world.send({ kind: 'list', fromTaskId: 1, limit: 10 })
  t.match(world.send({ kind: 'ping' }), [{ kind: 'pong' }], 'a ping does not wait')
  t.match(world.send({ kind: 'lease', queues: ['q'], waitMs: 0 }), [{ kind: 'empty' }])
  t.strictSame([stats, list], [[], []])
  await world.clock.settle()
  t.match([stats, list], [[{ kind: 'stats' }], [{ kind: 'tasks' }]])
})

t.test(
  'a query of a closed connection is not answered; one during shutdown is rejected',
  async (t) => {
    const world = await World.started()
    const left = world.send({ kind: 'stats' }, worker)
    const waiting = world.send({ kind: 'stats' }, client)
    world.coordinator.leave(worker)
    const stopped = world.coordinator.stop()
    t.strictSame(left, [])
    t.match(waiting, [{ kind: 'rejected', reason: 'STOPPING' }])
    await stopped
    t.equal(waiting.length, 1)
    await world.log.close()
  },
)

t.test(
  'a log failure ends the coordinator, and nothing is answered that is not durable',
  async (t) => {
    const world = await World.started()
    world.disk.failWhen(() => true, { kind: 'error', code: 'EIO', times: 'forever' })
    const answers = world.send({ kind: 'submit', payload: Buffer.from('x') })
    await world.clock.settle()
    t.same(answers, [])
    t.equal(world.failures.length, 1)
    t.match(await world.ask({ kind: 'ping' }), { reason: 'STOPPING' })
  },
)

t.test("a task due in a year sets no timer beyond Node's maximum", async (t) => {
  const world = await World.started()
  const delays: number[] = []
  const { clock } = world
  const setTimer = clock.setTimer.bind(clock)
  clock.setTimer = (delayMs, callback) => {
    delays.push(delayMs)
    return setTimer(delayMs, callback)
  }
  await world.submit({ delayMs: 365 * 24 * 3600 * 1000 })
  const poll = world.send({ kind: 'lease', queues: ['default'], waitMs: 60_000 }, worker)
  await clock.advance(60_000)
  t.match(poll, [{ kind: 'empty' }])
  t.ok(delays.length >= 2 && delays.every((delayMs) => delayMs < 2 ** 31))
})

t.test('startup stops a poison task that a crash left waiting', async (t) => {
  const world = await World.started({ poisonThreshold: 0 })
  const taskId = await world.submit()
  for (let attempt = 1; attempt <= 2; attempt++) {
    await world.lease()
    await world.clock.advance(30_000)
  }
  await world.stop()
  const strict = new World({ poisonThreshold: 2 }, world.disk)
  await strict.start()
  t.match((await strict.expect('task', { kind: 'get', taskId })).task, {
    state: 'DEAD',
    reason: /poison: 2/,
  })
  await strict.check()
})
