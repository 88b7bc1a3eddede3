import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { deadlineMs, heartbeatMs, leaseMs, World } from './world.js'

// A handler that returns after the deadline has done its work: the coordinator hears of it once, so
// that the log has the evidence (003 §4), and it has the last word.

const abortGraceMs = 5000
const committed = { kind: 'committed', state: 'COMPLETED' } as const

/** A worker whose handler still runs after the deadline. */
async function overdue() {
  const world = await World.create({ abortGraceMs })
  const run = await world.grant()
  await world.advance(deadlineMs)
  return { world, run }
}

t.test('a result that is returned within the grace is reported once', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  await world.advance(abortGraceMs - 1)
  run.returns('done')
  await world.advance(10 * leaseMs)
  const { taskId, leaseId } = run.work
  t.match(world.coordinator.reports, [
    { kind: 'complete', taskId, leaseId, result: Buffer.from('done') },
  ])
  t.equal(world.calls('reportedLate').length, 1)
})

t.test('CANCELLED is its answer, and the result is dropped', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.advance(10 * leaseMs)
  t.match(world.words('cancelled'), [{ reason: 'EXPIRED' }])
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.calls('unreported'), [])
})

t.test('COMMITTED counts: the deadline comes before the expiry', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.match(world.words('committed'), [committed])
  t.equal(world.worker.mode, 'leasing')
})

t.test('the slot is free when the handler is gone, whatever becomes of the report', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  t.equal(world.coordinator.waiting('lease').length, 0)
  run.returns('done')
  await world.rest()
  t.equal(world.coordinator.waiting('complete').length, 1)
  t.equal(world.coordinator.waiting('lease').length, 1)
})

for (const [what, outcome] of [
  ['throws', { kind: 'failed', reason: 'AbortError: aborted' }],
  ['crashes', { kind: 'crashed', reason: 'its thread exited' }],
  ['is terminated', { kind: 'terminated' }],
  ['returns more than a result may have', { kind: 'returned', result: Buffer.alloc(5001) }],
] as const) {
  t.test(`a handler that ${what} after the deadline is not reported`, async (t) => {
    const { world, run } = await overdue()
    await using _ = world
    run.end(outcome)
    await world.advance(leaseMs)
    t.strictSame(world.coordinator.reports, [])
    t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  })
}

t.test('a result that comes after the grace is not reported', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  world.isolation.terminates = 'never'
  await world.advance(abortGraceMs)
  run.returns('done')
  await world.advance(leaseMs)
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
})

t.test('a late report is not sent again when the connection breaks', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  await world.cut()
  await world.advance(leaseMs)
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
})

t.test('a late report is not sent again after a refusal that passes', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').reject('NO_SPACE', 10)
  await world.advance(leaseMs)
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
})

t.test('an answer to a late report is awaited for five seconds', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.advance(4999)
  t.strictSame(world.calls('unreported'), [])
  await world.advance(1)
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
  t.equal(world.worker.mode, 'leasing')
})

t.test('so is a connection to send it over', async (t) => {
  for (const [awayMs, reports] of [
    [4000, 1],
    [5000, 0],
  ] as const) {
    const { world, run } = await overdue()
    await using _ = world
    world.coordinator.isDown = true
    await world.cut()
    run.returns('done')
    await world.advance(awayMs)
    world.coordinator.isDown = false
    await world.advance(leaseMs)
    t.equal(world.coordinator.reports.length, reports)
    t.equal(world.calls('reportedLate').length, reports)
    t.strictSame(world.words('unreported'), [reports === 1 ? 'UNKNOWN' : 'NOT_SENT'])
  }
})

t.test('a result is reported late though the loop stood still over the deadline', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.stall(10 * leaseMs)
  run.returns('done')
  await world.rest()
  t.strictSame(world.words('leaseLost'), ['DEADLINE'])
  t.match(world.coordinator.reports, [{ kind: 'complete', leaseId: run.work.leaseId }])
  await world.advance(leaseMs)
  t.equal(world.coordinator.reports.length, 1)
})

t.test('a worker that stops while it waits for the answer ends in time', async (t) => {
  const { world, run } = await overdue()
  await using _ = world
  run.returns('done')
  await world.rest()
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'draining')
  world.coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.calls('cancelled').length, 1)
})

// ---- a loss that becomes known within the grace

t.test('a heartbeat that is refused after the deadline ends the grace', async (t) => {
  await using world = await World.create({ abortGraceMs })
  const run = await world.grant()
  await world.advance(heartbeatMs)
  const beat = world.coordinator.take('heartbeat')
  await world.advance(deadlineMs - heartbeatMs)
  t.equal(run.isTerminated, false)
  beat.reject('SUPERSEDED')
  await world.rest()
  t.equal(run.isTerminated, true)
  t.strictSame(world.words('leaseLost'), ['DEADLINE'], 'which is no second loss')
  t.strictSame(world.coordinator.reports, [])
})

t.test('a refusal that passes leaves the grace as it is', async (t) => {
  await using world = await World.create({ abortGraceMs })
  const run = await world.grant()
  await world.advance(heartbeatMs)
  const beat = world.coordinator.take('heartbeat')
  await world.advance(deadlineMs - heartbeatMs)
  beat.reject('NO_SPACE')
  await world.rest()
  t.equal(run.isTerminated, false)
  run.returns('done')
  await world.rest()
  t.equal(world.coordinator.reports.length, 1)
})

t.test('a worker that is granted the task anew ends the grace of its old execution', async (t) => {
  await using world = await World.create({ abortGraceMs, concurrency: 2 })
  world.isolation.terminates = 'never'
  const run = await world.grant()
  await world.advance(deadlineMs)
  await world.grant({ taskId: run.work.taskId, attempt: 2 })
  t.equal(run.isTerminated, true)
  run.returns('done')
  await world.rest()
  t.strictSame(world.coordinator.reports, [])
})

t.test('a handler that was told to end is cut off when the loss is known', async (t) => {
  await using world = await World.create({ drainGraceMs: 1000, abortGraceMs: 60_000 })
  const run = await world.grant()
  await world.advance(heartbeatMs - 1000)
  void world.worker.stop()
  await world.advance(1000)
  // The heartbeat went out in the moment in which the grace to drain was over.
  t.strictSame(run.abortCodes, ['WORKER_STOPPING'])
  t.equal(run.isTerminated, false)
  world.coordinator.take('heartbeat').reject('EXPIRED')
  await world.rest()
  t.equal(run.isTerminated, true)
})

t.test('inline, a handler that ends soon after its abort is not stuck', async (t) => {
  await using world = await World.create({
    isolation: 'inline',
    handler: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener(
          'abort',
          () => void setImmediate().then(() => reject(new Error('aborted'))),
        )
      }),
  })
  world.answerPoll()
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('EXPIRED')
  await world.rest()
  await setImmediate()
  await world.advance(10 * leaseMs)
  t.strictSame(world.calls('handlerStuck'), [])
  t.equal(world.calls('handlerEnded').length, 1)
})
