import t from 'tap'
import { World } from './world.js'

t.test('a worker that has not started is idle, and nobody looks for a coordinator', async (t) => {
  await using world = new World()
  const worker = world.make()
  await world.rest()
  t.equal(worker.mode, 'idle')
  t.equal(worker.isConnected, false)
  t.strictSame(world.coordinator.hellos, [])
  t.match(await worker.metrics.text(), 'tenure_worker_slots 1')
})

t.test('it says what it serves', async (t) => {
  await using world = new World({ queues: ['mail'], concurrency: 3 })
  const worker = world.make()
  t.strictSame([worker.name, worker.queues, worker.concurrency], ['me', ['mail'], 3])
})

t.test('stop before start ends it for good', async (t) => {
  await using world = new World()
  const worker = world.make()
  await worker.stop()
  t.equal(worker.mode, 'stopped')
  await t.rejects(worker.start(), { code: 'CLIENT_ABORTED' })
  t.equal(world.isolation.isStarted, false)
  t.equal(worker.mode, 'stopped')
})

t.test('stop while the handler is loaded ends the start', async (t) => {
  await using world = new World()
  world.isolation.start = () => new Promise(() => undefined)
  const worker = world.make()
  const rejected = t.rejects(worker.start(), { code: 'CLIENT_ABORTED' })
  await worker.stop()
  await rejected
  t.equal(worker.mode, 'stopped')
  t.equal(world.isolation.isClosed, true)
  t.strictSame(world.coordinator.hellos, [])
})

t.test('stop while a coordinator is looked for ends the start', async (t) => {
  await using world = new World()
  world.coordinator.isDown = true
  const worker = world.make()
  const rejected = t.rejects(worker.start(), { code: 'CLIENT_ABORTED' })
  await world.advance(60_000)
  await worker.stop()
  await rejected
  t.equal(worker.mode, 'stopped')
  await world.rest()
  t.equal(world.clock.timers, 0)
  t.equal(world.network.size, 0)
})

t.test('stop while the welcome is on its way leaves no connection', async (t) => {
  await using world = new World()
  world.delayMs = 100
  const worker = world.make()
  const started = worker.start().catch((error: unknown) => error)
  await world.advance(150)
  t.equal(world.coordinator.hellos.length, 1)
  await worker.stop()
  t.match(await started, { code: 'CLIENT_ABORTED' })
  await world.advance(1000)
  t.equal(world.network.size, 0)
  t.strictSame(world.coordinator.all('lease'), [])
})

t.test('a worker starts once', async (t) => {
  await using world = await World.create()
  await t.rejects(world.worker.start(), { message: 'a worker starts once' })
  t.equal(world.worker.mode, 'leasing', 'and what runs goes on')
  t.equal(world.coordinator.hellos.length, 1)
})
