import {
  createState,
  getCounters,
  getLease,
  leasedTasks,
  position,
  skipTo,
} from '@tenure/state-machine'
import { SimulatedDisk } from '@tenure/testing'
import t from 'tap'
import { recover } from '../src/core/recovery.js'
import { otherWorker, World, worker } from './world.js'

const poll = { kind: 'lease', queues: ['default'], waitMs: 60_000 } as const

t.test(
  'a poll that comes while a TaskCancelled is on its way gets the task behind it',
  async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    await world.clock.advance(30_000)
    world.send({ kind: 'complete', taskId, leaseId }, worker)
    const answers = world.send(poll, otherWorker)
    await world.clock.settle()
    t.match(answers, [{ kind: 'leased', taskId, attempt: 2 }])
  },
)

t.test('poison is stopped although its worker reports late, each time', async (t) => {
  const world = await World.started({ poisonThreshold: 2 })
  const taskId = await world.submit()
  for (let attempt = 1; attempt <= 2; attempt++) {
    const { leaseId } = await world.lease()
    // Its report comes in the very turn in which the lease is over, and before the alarm.
    world.clock.oversleep(30_000)
    t.match(await world.ask({ kind: 'complete', taskId, leaseId }, worker), { kind: 'cancelled' })
  }
  t.match((await world.expect('task', { kind: 'get', taskId })).task, {
    state: 'DEAD',
    expiriesInARow: 2,
  })
  await world.check()
})

t.test('submissions on their way count where there is a limit', async (t) => {
  const world = await World.started({ waitingTasksMax: 3 })
  const answers = Array.from({ length: 10 }, () =>
    world.send({ kind: 'submit', payload: Buffer.from('x') }),
  )
  await world.clock.settle()
  t.equal(answers.flat().filter(({ kind }) => kind === 'submitted').length, 3)
  t.match(answers[3], [{ reason: 'OVERLOADED' }])
  const bytes = await World.started({ tasksBytesMax: 10 })
  const large = Array.from({ length: 5 }, () =>
    bytes.send({ kind: 'submit', payload: Buffer.alloc(4) }),
  )
  await bytes.clock.settle()
  t.equal(large.flat().filter(({ kind }) => kind === 'submitted').length, 2)
})

t.test('a submission whose task is being forgotten waits, and is a new one', async (t) => {
  const world = await World.started({ retentionMs: 1000 })
  const submit = { kind: 'submit', payload: Buffer.from('p'), requestId: 'r' } as const
  const { taskId } = (await world.ask(submit)) as { taskId: number }
  await world.ask({ kind: 'kill', taskId, reason: '' })
  await world.clock.advance(1000)
  world.coordinator.tidy()
  const again = world.send(submit)
  await world.clock.settle()
  t.match(again, [{ kind: 'submitted', known: false }])
  await world.check()
})

t.test(
  'a full disk: submissions are refused first, time is tried again, and it passes by itself',
  async (t) => {
    const world = await World.started()
    await world.submit()
    const { taskId, leaseId } = await world.lease()
    const room = world.log.claim.bind(world.log)
    let isFull = true
    world.log.claim = (bytes, urgency) => {
      if (!isFull) return room(bytes, urgency)
      throw Object.assign(new Error('full'), { code: 'WAL_NO_SPACE' })
    }
    const noSpace = { kind: 'rejected', reason: 'NO_SPACE', retryAfterMs: 1000 }
    t.match(await world.ask({ kind: 'submit', payload: Buffer.from('x') }), noSpace)
    t.match(await world.ask({ kind: 'complete', taskId, leaseId }, worker), noSpace)
    const rung: number[] = []
    const setTimer = world.clock.setTimer.bind(world.clock)
    world.clock.setTimer = (delayMs, callback) => {
      rung.push(delayMs)
      return setTimer(delayMs, callback)
    }
    await world.clock.advance(40_000)
    t.match(
      await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker),
      noSpace,
      'no EXPIRED without a record',
    )
    t.ok(rung.length < 40, `${rung.length} timers in forty seconds: it does not spin`)
    isFull = false
    await world.clock.advance(2000)
    t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), { reason: 'EXPIRED' })
    await world.check()
  },
)

t.test('a start that has no room for what time decided does not serve', async (t) => {
  const world = await World.started()
  await world.submit()
  await world.lease()
  await world.stop()
  await world.clock.advance(60_000)
  world.disk = SimulatedDisk.from(world.disk.snapshot())
  const full = new World({}, world.disk)
  full.alterLog = (log) => {
    log.claim = () => {
      throw Object.assign(new Error('full'), { code: 'WAL_NO_SPACE' })
    }
  }
  await full.clock.advance(60_000)
  await t.rejects(full.start(), { code: 'COORDINATOR_FAILED', message: /make room/ })
})

t.test(
  'a start expires what is over when it begins; what ends meanwhile may still be extended',
  async (t) => {
    const world = await World.started()
    const leases: { taskId: number; leaseId: number }[] = []
    for (let count = 0; count < 5; count++) {
      await world.submit()
      leases.push(await world.lease())
      await world.clock.advance(10)
    }
    await world.stop()
    // The first one has just expired, and each write takes as long as it is until the next one does.
    const { clock } = world
    await clock.advance(30_000 - 50)
    world.alterLog = (log) => {
      const append = log.append.bind(log)
      log.append = async (...records) => {
        const lsn = await append(...records)
        await clock.advance(10)
        return lsn
      }
    }
    await world.start()
    t.equal(getCounters(world.state).leasesExpired, 1)
    t.equal(leasedTasks(world.state).length, 4)
    const { taskId, leaseId } = leases.at(-1)!
    world.send({ kind: 'heartbeat', taskId, leaseId }, worker)
    await clock.advance(1000)
    t.ok(getLease(world.state, leaseId))
  },
)

t.test('a log that fails while nobody asks is noticed, once, and nothing throws', async (t) => {
  const world = await World.started()
  await world.submit()
  await world.lease()
  world.log.claim = () => {
    throw Object.assign(new Error('the log has failed'), { code: 'WAL_FAILED' })
  }
  const answers = world.send({ kind: 'submit', payload: Buffer.from('x') })
  await world.clock.advance(60_000)
  t.same(answers, [])
  t.equal(world.failures.length, 1)
  await t.rejects(world.coordinator.stop(), { code: 'WAL_FAILED' })
})

t.test('a replay walks over one declared gap after the other, and over nothing else', async (t) => {
  const gaps = [
    { firstLsn: 1, lastLsn: 99 },
    { firstLsn: 100, lastLsn: 199 },
  ]
  const log = (nextLsn: number) => ({
    ...{ nextLsn, checkpointLsn: 0, gaps },
    async *readCheckpoint() {},
    async *replay() {},
  })
  t.equal(position(await recover(log(200))).lastLsn, 199)
  t.equal(position(await recover(log(1))).lastLsn, 0)
  await t.rejects(recover(log(201)), { code: 'HISTORY_UNDECLARED_GAP', message: /declares no gap/ })
  const state = createState()
  skipTo(state, 5)
  t.equal(position(state).lastLsn, 4)
})

t.test(
  'however many have ended, none is remembered for much longer than its retention',
  async (t) => {
    const world = await World.started({ retentionMs: 60_000 })
    const ids = Array.from({ length: 2500 }, () => world.submit())
    for (const id of await Promise.all(ids)) world.send({ kind: 'kill', taskId: id, reason: '' })
    await world.clock.settle()
    const ended = async () => (await world.expect('stats', { kind: 'stats' })).stats.tasks
    await world.clock.advance(59_999)
    world.coordinator.tidy()
    await world.clock.settle()
    t.match(await ended(), { ended: 2500 })
    await world.clock.advance(1)
    const before = world.log.nextLsn
    world.coordinator.tidy()
    await world.clock.settle()
    t.match(await ended(), { ended: 0 })
    t.equal(world.log.nextLsn - before, 3, 'a thousand at once')
  },
)

t.test('ended tasks are let go of from time to time, not with every batch', async (t) => {
  const world = await World.started({ retentionTasks: 0 })
  for (let count = 0; count < 5; count++)
    await world.ask({ kind: 'kill', taskId: await world.submit(), reason: '' })
  const ended = async () => (await world.expect('stats', { kind: 'stats' })).stats.tasks
  t.match(await ended(), { ended: 5 })
  world.coordinator.tidy()
  await world.clock.settle()
  t.match(await ended(), { ended: 0 })
  t.equal(world.log.nextLsn, 12, 'one TasksForgotten for all')
})
