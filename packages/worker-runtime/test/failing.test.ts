import { type Reason, reasons } from '@tenure/protocol'
import { SimulatedClock, Uncaught } from '@tenure/testing'
import t from 'tap'
import { WorkerError } from '../src/errors.js'
import { Outage } from '../src/polling/outage.js'
import { meaningOf } from '../src/refusals.js'
import { heartbeatMs, World } from './world.js'

// How a failed worker ends: it drains and says why. contract.test.ts tests when a worker fails.

const committed = { kind: 'committed', state: 'COMPLETED' } as const

t.test('every reason has the meaning in docs/semantics.md', (t) => {
  const all = Object.keys(reasons) as Reason[]
  const of = (meaning: string) => all.filter((reason) => meaningOf(reason) === meaning)
  t.strictSame(of('transient'), ['OVERLOADED', 'NO_SPACE', 'STOPPING', 'NOT_ACTIVE', 'TOO_MANY'])
  t.strictSame(of('lost'), ['REPORTED', 'EXPIRED', 'SUPERSEDED', 'TASK_TERMINAL'])
  t.strictSame(of('tolerated'), ['UNKNOWN_TASK', 'TOO_LARGE', 'INTERNAL'])
  t.strictSame(of('misuse'), [
    ...['MALFORMED', 'FORBIDDEN', 'UNKNOWN_LEASE', 'WRONG_WORKER', 'DUPLICATE_REPORT'],
    ...['CONFLICT', 'UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'PROTOCOL'],
  ])
  t.end()
})

// ---- ended

t.test('`ended` resolves after stop', async (t) => {
  await using world = await World.create()
  let hasEnded = false
  const ended = world.worker.ended.then(() => {
    hasEnded = true
  })
  await world.advance(60_000)
  t.equal(hasEnded, false)
  await world.stop()
  await ended
  t.strictSame(world.calls('failed'), [])
})

t.test('a failure without a listener raises no unhandled rejection', async (t) => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  await using world = await World.create()
  world.coordinator.take('lease').reject('FORBIDDEN')
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.match(world.calls('failed'), [[{ code: 'WORKER_PROTOCOL_ERROR' }]])
  t.strictSame(unhandled, [])
})

t.test('an observer that throws does not prevent the end of the worker', async (t) => {
  using uncaught = new Uncaught()
  await using world = await World.create({
    observer: {
      failed: () => {
        throw new Error('the observer erred')
      },
    },
  })
  world.coordinator.take('lease').reject('FORBIDDEN')
  await world.rest()
  t.match(await uncaught.at(1), { message: 'the observer erred' })
  t.equal(world.worker.mode, 'stopped')
  await t.rejects(world.worker.ended, { code: 'WORKER_PROTOCOL_ERROR' })
})

// ---- after a protocol error

t.test('after a protocol error running tasks finish, and no more are leased', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const [one, other] = [await world.grant(), await world.grant()]
  one.returns('done')
  await world.rest()
  world.coordinator.take('complete').reject('DUPLICATE_REPORT')
  await world.rest()
  t.equal(world.worker.mode, 'draining')
  await world.advance(heartbeatMs)
  await world.extend()
  t.strictSame(other.abortCodes, [])
  const polls = world.coordinator.all('lease').length
  other.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.coordinator.all('lease').length, polls)
  t.equal(world.calls('committed').length, 1)
})

t.test('only the first failure is reported', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const runs = [await world.grant(), await world.grant()]
  for (const run of runs) run.returns()
  await world.rest()
  world.coordinator.take('complete').reject('WRONG_WORKER')
  world.coordinator.take('complete').reject('UNKNOWN_LEASE')
  await world.rest()
  t.equal(world.calls('protocolError').length, 2)
  t.equal(world.calls('failed').length, 1)
  await t.rejects(world.worker.ended, { cause: { reason: 'WRONG_WORKER' } })
})

t.test('a protocol error while the worker stops is reported', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  const stopping = world.worker.stop()
  run.returns()
  await world.rest()
  world.coordinator.take('complete').reject('WRONG_WORKER')
  await world.rest()
  await stopping
  await t.rejects(world.worker.ended, { code: 'WORKER_PROTOCOL_ERROR' })
})

t.test('with keepGoing a protocol error is reported, and the worker continues', async (t) => {
  await using world = await World.create({ keepGoing: true })
  const run = await world.grant()
  run.returns()
  await world.rest()
  world.coordinator.take('complete').reject('WRONG_WORKER')
  await world.rest()
  t.match(world.calls('protocolError'), [[{ reason: 'WRONG_WORKER' }, 'report']])
  t.strictSame(world.calls('failed'), [])
  t.equal(world.worker.mode, 'leasing')
  await world.grant()
})

t.test('with keepGoing FORBIDDEN polls pause and resume', async (t) => {
  await using world = await World.create({ keepGoing: true })
  world.coordinator.take('lease').reject('FORBIDDEN')
  await world.advance(999)
  t.equal(world.coordinator.waiting('lease').length, 0)
  await world.advance(1)
  t.equal(world.coordinator.waiting('lease').length, 1)
  t.match(world.calls('pollFailed'), [[{ reason: 'FORBIDDEN' }, 1000]])
})

// ---- giving up

t.test('without giveUpAfterMs the worker never gives up', async (t) => {
  await using world = await World.create()
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(3600_000)
  t.equal(world.worker.mode, 'leasing')
})

t.test('a start without a coordinator gives up and names the last error', async (t) => {
  await using world = new World({ giveUpAfterMs: 10_000 })
  world.coordinator.isDown = true
  const worker = world.make()
  const started = t.rejects(worker.start(), {
    code: 'WORKER_GAVE_UP',
    message: /no connection to a coordinator for 10000 ms \(.+\); .*options\.giveUpAfterMs$/,
    cause: { code: 'CLIENT_DISCONNECTED' },
  })
  await world.advance(9999)
  t.equal(worker.mode, 'idle')
  await world.advance(1)
  await started
  t.equal(worker.mode, 'stopped')
  await t.rejects(worker.ended, WorkerError)
})

t.test('a limit longer than the maximum timer delay works', async (t) => {
  class ShortTimers extends SimulatedClock {
    override setTimer(delayMs: number, callback: () => void): { cancel(): void } {
      return super.setTimer(Math.min(delayMs, 10_000), callback)
    }
  }
  const clock = new ShortTimers()
  const errors: WorkerError[] = []
  new Outage(clock, 25_000, (error) => errors.push(error)).begin()
  await clock.advance(24_999)
  t.strictSame(errors, [])
  await clock.advance(1)
  t.match(errors, [{ code: 'WORKER_GAVE_UP' }])
})

t.test('a connection in time resets the limit', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  for (let outages = 0; outages < 3; outages++) {
    world.coordinator.isDown = true
    await world.cut()
    await world.advance(8000)
    world.coordinator.isDown = false
    await world.advance(5000)
    t.equal(world.worker.isConnected, true)
  }
  t.equal(world.worker.mode, 'leasing')
})

t.test('connections that break immediately do not end an outage', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  for (let passedMs = 0; passedMs < 10_000; passedMs += 200) {
    await world.cut()
    await world.advance(200)
  }
  t.ok(world.calls('connected').length > 10)
  await t.rejects(world.worker.ended, { code: 'WORKER_GAVE_UP' })
})

t.test('an answered poll resets the time of rejections', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  for (let rounds = 0; rounds < 4; rounds++) {
    world.coordinator.take('lease').reject('OVERLOADED', 8000)
    await world.advance(8000)
    world.coordinator.take('lease').answer({ kind: 'empty' })
    await world.rest()
  }
  t.equal(world.worker.mode, 'leasing')
})

t.test('a requested pause longer than the remaining time does not delay giving up', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  world.coordinator.take('lease').reject('OVERLOADED', 3600_000)
  await world.advance(9999)
  t.equal(world.worker.mode, 'leasing')
  await world.advance(1)
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.coordinator.all('lease').length, 1)
})

t.test('a connected worker with busy slots does not give up', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  await world.grant()
  for (let beats = 0; beats < 6; beats++) {
    await world.advance(heartbeatMs)
    await world.extend()
  }
  t.equal(world.worker.mode, 'running')
})

t.test('a worker that gives up lets its handler run until the deadline', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  const run = await world.grant()
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(10_000)
  t.equal(world.worker.mode, 'draining')
  t.strictSame(run.abortCodes, [])
  world.coordinator.isDown = false
  run.returns('done')
  await world.advance(1000)
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.calls('committed').length, 1, 'and reports after reconnecting')
  await t.rejects(world.worker.ended, { code: 'WORKER_GAVE_UP' })
})

t.test('a worker that stops does not give up as well', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000, drainGraceMs: 60_000 })
  await world.grant({ leaseMs: 100_000 })
  void world.worker.stop()
  world.coordinator.isDown = true
  await world.cut()
  await world.stop()
  await world.worker.ended
  t.strictSame(world.calls('failed'), [])
})
