import type { Reason } from '@tenure/protocol'
import t from 'tap'
import { deadlineMs, heartbeatMs, World } from './world.js'

const committed = { kind: 'committed', state: 'COMPLETED' } as const

// ---- one poll per slot

t.test('there is one poll for each free slot', async (t) => {
  await using world = await World.create({ concurrency: 3 })
  t.equal(world.coordinator.waiting('lease').length, 3)
  await world.grant()
  t.equal(world.coordinator.waiting('lease').length, 2)
  await world.grant()
  await world.grant()
  t.equal(world.coordinator.waiting('lease').length, 0)
  await world.advance(heartbeatMs)
  t.equal(world.coordinator.all('lease').length, 3)
})

t.test('polls name the queues and how long to wait', async (t) => {
  await using world = await World.create({ queues: ['mail', 'sms'], pollWaitMs: 1234 })
  t.match(world.coordinator.all('lease'), [{ queues: ['mail', 'sms'], waitMs: 1234 }])
})

t.test('the hello contains the name and the capacity', async (t) => {
  await using world = await World.create({ concurrency: 7, token: 'secret' })
  t.match(world.coordinator.hellos, [{ role: 'work', name: 'me', capacity: 7, token: 'secret' }])
  t.equal(world.worker.name, 'me')
})

t.test('a pending report takes no slot', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  run.returns()
  await world.rest()
  t.equal(world.coordinator.waiting('complete').length, 1)
  t.equal(world.coordinator.waiting('lease').length, 1)
  await world.grant()
  t.equal(world.coordinator.waiting('lease').length, 0)
})

t.test('a slot is not reused before its handler has ended', async (t) => {
  await using world = await World.create()
  world.isolation.terminates = 'when told'
  const run = await world.grant()
  world.coordinator.isSilent = true
  await world.advance(deadlineMs)
  await world.advance(5000)
  t.equal(run.isTerminated, true)
  world.coordinator.isSilent = false
  await world.advance(30_000)
  t.equal(world.worker.isConnected, true)
  t.equal(world.coordinator.waiting('lease').length, 0)
  run.end({ kind: 'terminated' })
  await world.rest()
  t.equal(world.coordinator.waiting('lease').length, 1)
})

t.test('a handler that cannot be terminated keeps its slot', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  world.isolation.terminates = 'never'
  const run = await world.grant()
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('EXPIRED')
  await world.advance(60_000)
  t.equal(world.calls('handlerStuck').length, 1)
  t.equal(world.coordinator.waiting('lease').length, 1)
  run.returns()
  await world.rest()
  t.equal(world.coordinator.waiting('lease').length, 2)
})

t.test('polls that are granted late still count as one per slot', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  world.delayMs = 700
  world.answerPoll()
  world.answerPoll()
  await world.advance(1400)
  t.equal(world.isolation.runs.length, 2)
  await world.advance(5000)
  t.equal(world.coordinator.all('lease').length, 2)
})

t.test('there are never more running tasks than slots', async (t) => {
  await using world = await World.create({ concurrency: 3 })
  for (let round = 0; round < 60; round++) {
    const { coordinator, isolation } = world
    if (round % 7 === 3) await world.cut()
    if (coordinator.waiting('lease').length > 0) await world.grant()
    if (round % 2 === 0) isolation.running[round % isolation.running.length]?.returns()
    await world.advance(60)
    if (round % 5 === 0 && coordinator.waiting('complete').length > 0) {
      coordinator.take('complete').answer(committed)
    }
    const { length: running } = isolation.running
    const { length: asking } = coordinator.waiting('lease')
    t.ok(running + asking <= 3, `${running} run and ${asking} are asked for`)
  }
  t.ok(world.isolation.runs.length > 20)
})

t.test('polls do not hold up heartbeats, reports and withdrawals', async (t) => {
  const limits = { requestsInFlightMax: 4 }
  await using world = await World.create({ concurrency: 10 }, { limits })
  const run = await world.grant()
  await world.advance(heartbeatMs)
  t.equal(world.coordinator.waiting('heartbeat').length, 1)
  await world.extend()
  run.returns()
  await world.rest()
  t.equal(world.coordinator.waiting('complete').length, 1)
  world.coordinator.take('complete').answer(committed)
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'stopped', 'waiting polls are withdrawn')
})

t.test("the number of waiting polls respects the coordinator's limit", async (t) => {
  const limits = { pollsPerConnectionMax: 5 }
  await using world = await World.create({ concurrency: 10 }, { limits })
  t.equal(world.coordinator.waiting('lease').length, 5)
})

t.test('at most 64 polls are sent concurrently', async (t) => {
  const limits = { requestsInFlightMax: 1000 }
  await using world = await World.create({ concurrency: 100 }, { limits })
  t.equal(world.coordinator.waiting('lease').length, 64)
  for (let granted = 0; granted < 50; granted++) await world.grant()
  t.equal(world.coordinator.waiting('lease').length, 50)
})

t.test('polling works with a coordinator that accepts one request at a time', async (t) => {
  const limits = { requestsInFlightMax: 1, pollsPerConnectionMax: 1 }
  await using world = await World.create({ concurrency: 2 }, { limits })
  t.equal(world.coordinator.waiting('lease').length, 1)
})

// ---- without a task

t.test('the next poll follows an empty answer', async (t) => {
  await using world = await World.create()
  world.coordinator.take('lease').answer({ kind: 'empty' })
  await world.rest()
  t.equal(world.coordinator.waiting('lease').length, 1)
  t.strictSame(world.calls('pollFailed'), [])
})

for (const reason of ['OVERLOADED', 'STOPPING', 'INTERNAL'] as const satisfies Reason[]) {
  t.test(`a poll rejected with ${reason} is repeated after a pause`, async (t) => {
    await using world = await World.create()
    world.coordinator.take('lease').reject(reason)
    await world.advance(999)
    t.equal(world.coordinator.waiting('lease').length, 0)
    await world.advance(1)
    t.equal(world.coordinator.waiting('lease').length, 1)
    t.match(world.calls('pollFailed'), [[{ reason }, 1000]])
  })
}

t.test('the coordinator can set the pause', async (t) => {
  await using world = await World.create()
  world.coordinator.take('lease').reject('OVERLOADED', 7000)
  await world.advance(6999)
  t.equal(world.coordinator.waiting('lease').length, 0)
  await world.advance(1)
  t.equal(world.coordinator.waiting('lease').length, 1)
  t.match(world.calls('pollFailed'), [[{ reason: 'OVERLOADED' }, 7000]])
})

t.test("pauses set by the coordinator do not lengthen the worker's own pauses", async (t) => {
  await using world = await World.create()
  for (let refusals = 0; refusals < 5; refusals++) {
    world.coordinator.take('lease').reject('NO_SPACE', 100)
    await world.advance(100)
  }
  world.coordinator.take('lease').reject('STOPPING')
  await world.rest()
  t.match(world.calls('pollFailed').at(-1), [{ reason: 'STOPPING' }, 1000])
})

t.test('a new connection resets the pause', async (t) => {
  await using world = await World.create()
  world.coordinator.take('lease').reject('OVERLOADED')
  await world.advance(1000)
  await world.cut()
  await world.advance(50)
  world.coordinator.take('lease').reject('OVERLOADED')
  await world.rest()
  t.match(world.calls('pollFailed').at(-1), [{ reason: 'OVERLOADED' }, 1000])
})

t.test('rejected polls share one pause', async (t) => {
  await using world = await World.create({ concurrency: 3 })
  for (let poll = 0; poll < 3; poll++) world.coordinator.take('lease').reject('OVERLOADED')
  await world.advance(999)
  t.equal(world.calls('pollFailed').length, 1)
  t.equal(world.coordinator.waiting('lease').length, 0)
  await world.advance(1)
  t.equal(world.coordinator.waiting('lease').length, 3)
})

t.test('a task granted during the pause runs', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  world.coordinator.take('lease').reject('OVERLOADED')
  await world.rest()
  await world.grant()
  t.equal(world.coordinator.waiting('lease').length, 0)
  await world.advance(1000)
  t.equal(world.coordinator.waiting('lease').length, 1)
})

// ---- without a connection

t.test('polls lost with their connection are sent again after reconnecting', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  await world.cut()
  await world.advance(50)
  t.equal(world.coordinator.waiting('lease').length, 2)
  t.equal(world.coordinator.all('lease').length, 4)
  t.strictSame(world.calls('pollFailed'), [])
})

t.test('a coordinator that returns gets one poll per slot', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(120_000)
  world.coordinator.isDown = false
  await world.advance(5000)
  t.equal(world.coordinator.waiting('lease').length, 2)
  t.equal(world.coordinator.all('lease').length, 4)
})

t.test('a rejected handshake after a reconnect is reported and retried', async (t) => {
  await using world = await World.create()
  world.coordinator.refusal = 'UNAUTHORIZED'
  await world.cut()
  await world.advance(50)
  t.match(world.calls('pollFailed'), [[{ reason: 'UNAUTHORIZED' }, 1000]])
  await world.advance(63_000)
  const pauses = world.calls('pollFailed').map(([, retryInMs]) => retryInMs)
  t.strictSame(pauses, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  world.coordinator.refusal = undefined
  await world.advance(30_000)
  const run = await world.grant()
  run.returns()
  await world.rest()
  world.coordinator.refusal = 'UNAUTHORIZED'
  await world.cut()
  await world.advance(50)
  t.match(world.calls('pollFailed').at(-1), [{ reason: 'UNAUTHORIZED' }, 1000])
})

t.test('a rejected first handshake rejects the start', async (t) => {
  await using world = new World()
  world.coordinator.refusal = 'UNAUTHORIZED'
  const rejected = t.rejects(world.start(), { code: 'CLIENT_REJECTED', reason: 'UNAUTHORIZED' })
  await world.rest()
  await rejected
  t.equal(world.isolation.isClosed, true)
  t.strictSame(world.calls('modeChanged'), [['stopped']])
})

t.test('without a coordinator the start waits, until its signal aborts', async (t) => {
  await using world = new World()
  world.coordinator.isDown = true
  const rejected = t.rejects(world.start(), { code: 'CLIENT_ABORTED' })
  await world.advance(3600_000)
  t.ok(world.calls('attemptFailed').length > 100)
  world.abort()
  await world.rest()
  await rejected
  t.equal(world.isolation.isClosed, true)
})

t.test('the start continues when the coordinator appears later', async (t) => {
  await using world = new World()
  world.coordinator.isDown = true
  const starting = world.start()
  await world.advance(60_000)
  world.coordinator.isDown = false
  await world.advance(5000)
  const worker = await starting
  t.equal(worker.mode, 'leasing')
  t.equal(worker.isConnected, true)
  void worker.stop()
  await world.rest()
})
