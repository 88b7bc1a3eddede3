import type { RetryPolicy } from '@tenure/options'
import { checkInvariants, getLease, getTask, listTasks } from '@tenure/state-machine'
import {
  getCurrentLeaseId,
  getLeasedTaskId,
  getOffer,
  getQueue,
  getStanding,
  getSummary,
  getTaskState,
  hasTask,
  isSameSubmission,
  largestContents,
  type Submission,
  viewPayload,
  viewResult,
} from '@tenure/state-machine/internal'
import t from 'tap'
import { World } from './world.js'

t.test('getStanding returns the status by which a report is judged', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  t.strictSame(getStanding(world.state, taskId, leaseId), {
    taskState: 'LEASED',
    workerId: 'w',
    outcome: 'OPEN',
    grantedAt: 1_000_000,
    leaseExpiry: 1_010_000,
    windowEnd: 1_060_000,
    reportId: undefined,
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

t.test('only a LEASED task has a worker and a lease expiry', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  t.match(getSummary(world.state, taskId), { workerId: 'w', leaseExpiry: world.at + 10_000 })
  world.extend(leaseId, world.at + 12_000)
  t.equal(getSummary(world.state, taskId)?.leaseExpiry, world.at + 12_000, 'including extensions')
  t.strictSame(getLeasedTaskId(world.state, leaseId), taskId)
  t.equal(
    getLeasedTaskId(world.state, taskId),
    undefined,
    'the id of a task is not that of a lease',
  )
  world.expire(taskId)
  const { workerId, leaseExpiry } = getSummary(world.state, taskId)!
  t.strictSame([workerId, leaseExpiry], [undefined, undefined])
  t.equal(getLeasedTaskId(world.state, leaseId), undefined)
  world.grant(taskId)
  world.kill(taskId)
  const dead = getSummary(world.state, taskId)!
  t.strictSame([dead.workerId, dead.leaseExpiry], [undefined, undefined])
  t.end()
})

t.test('only a COMPLETED task has a result, which may be empty', (t) => {
  const world = new World()
  const of = (result?: Buffer) => {
    const { taskId } = world.leased()
    world.complete(taskId, result && { result })
    return viewResult(world.state, taskId)
  }
  t.strictSame(of(Buffer.from('done')), Buffer.from('done'))
  t.equal(of(Buffer.alloc(0))?.length, 0)
  t.equal(of(), undefined)
  const { taskId } = world.leased()
  t.equal(viewResult(world.state, taskId), undefined)
  world.fail(taskId)
  t.equal(viewResult(world.state, taskId), undefined, 'a reason of failure is not a result')
  t.equal(viewResult(world.state, 999), undefined)
  t.end()
})

t.test('a summary is the task without payload, result and attempts', (t) => {
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

t.test('a repeated submission is recognised, before and after the payload is removed', (t) => {
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
      'defaults are not compared, and a delay counts from the creation',
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
    t.equal(is({ ...bare, delayMs: 0 }), false, 'a delay of 0 means no delay')
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
  t.equal(isSameSubmission(world.state, plain, { ...plainAsked, delayMs: 0 }), true)
  t.equal(isSameSubmission(world.state, plain, { ...plainAsked, delayMs: 1 }), false)
  const fixed = (delayMs: number): RetryPolicy => ({
    maxRetries: 0,
    backoff: { kind: 'fixed', delayMs },
  })
  t.equal(isSameSubmission(world.state, plain, { ...plainAsked, retryPolicy: fixed(3) }), true)
  t.equal(isSameSubmission(world.state, plain, { ...plainAsked, retryPolicy: fixed(4) }), false)
  t.end()
})

t.test('a value that is not an LSN finds no task and no lease', (t) => {
  const world = new World()
  // A full block of the index has no free slot at which a search could stop.
  for (let i = 0; i < 8200; i++) world.create()
  for (const none of [5000.5, Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 2 ** 53, '5' as never]) {
    t.equal(getTask(world.state, none), undefined)
    t.equal(getLease(world.state, none), undefined)
  }
  t.end()
})

t.test('listTasks continues while tasks are created and removed', (t) => {
  const world = new World()
  const tasks = Array.from({ length: 10_000 }, () => world.create())
  const seen: number[] = []
  for (const { taskId } of listTasks(world.state)) {
    seen.push(taskId)
    if (taskId % 3 !== 1 || taskId > 9000) continue
    // The next task is removed, and a new task with another id reuses its row.
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

t.test('largestContents covers tasks in every state', (t) => {
  const world = new World()
  t.equal(largestContents(world.state), 0)
  world.create({ payload: Buffer.alloc(100) })
  t.equal(largestContents(world.state), 100)
  const { taskId } = world.leased()
  world.complete(taskId, { result: Buffer.alloc(300) })
  t.equal(largestContents(world.state), 300)
  t.end()
})

t.test('narrow views of a task agree with the whole task', (t) => {
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
