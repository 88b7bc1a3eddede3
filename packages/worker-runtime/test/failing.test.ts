import { type Reason, reasons } from '@tenure/protocol'
import { SimulatedClock, Uncaught } from '@tenure/testing'
import t from 'tap'
import { WorkerError } from '../src/errors.js'
import { Outage } from '../src/polling/outage.js'
import { meaningOf } from '../src/refusals.js'
import { heartbeatMs, World } from './world.js'

// How a worker ends by itself: it fails, drains, and says why. When it does is in the contract.

const committed = { kind: 'committed', state: 'COMPLETED' } as const

t.test('every reason means what the semantics say', (t) => {
  const all = Object.keys(reasons) as Reason[]
  const of = (meaning: string) => all.filter((reason) => meaningOf(reason) === meaning)
  t.strictSame(of('passes'), ['OVERLOADED', 'NO_SPACE', 'STOPPING', 'TOO_MANY'])
  t.strictSame(of('lost'), ['REPORTED', 'EXPIRED', 'SUPERSEDED', 'TASK_TERMINAL'])
  t.strictSame(of('innocent'), ['UNKNOWN_TASK', 'TOO_LARGE', 'INTERNAL'])
  t.strictSame(of('misuse'), [
    ...['MALFORMED', 'FORBIDDEN', 'UNKNOWN_LEASE', 'WRONG_WORKER', 'DUPLICATE_REPORT'],
    ...['CONFLICT', 'UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'PROTOCOL'],
  ])
  t.end()
})

// ---- ended

t.test('a worker that is stopped has ended well', async (t) => {
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

t.test('an observer that throws keeps no worker from its end', async (t) => {
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

t.test('a protocol error lets the tasks at hand end, and asks for no more', async (t) => {
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

t.test('the first of several failures is the one that is told', async (t) => {
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

t.test('a protocol error while the worker stops is told of, too', async (t) => {
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

t.test('with keepGoing a protocol error is told of, and the worker goes on', async (t) => {
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

t.test('with keepGoing polls that are FORBIDDEN rest, and come back', async (t) => {
  await using world = await World.create({ keepGoing: true })
  world.coordinator.take('lease').reject('FORBIDDEN')
  await world.advance(999)
  t.equal(world.coordinator.waiting('lease').length, 0)
  await world.advance(1)
  t.equal(world.coordinator.waiting('lease').length, 1)
  t.match(world.calls('pollFailed'), [[{ reason: 'FORBIDDEN' }, 1000]])
})

// ---- giving up

t.test('without giveUpAfterMs nothing is given up', async (t) => {
  await using world = await World.create()
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(3600_000)
  t.equal(world.worker.mode, 'leasing')
})

t.test('a start that finds no coordinator gives up, and says what it met', async (t) => {
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

t.test('a bound beyond what one timer can wait is kept, too', async (t) => {
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

t.test('a connection that comes in time begins the count anew', async (t) => {
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

t.test('connections that break as soon as they are made end no outage', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  for (let passedMs = 0; passedMs < 10_000; passedMs += 200) {
    await world.cut()
    await world.advance(200)
  }
  t.ok(world.calls('connected').length > 10)
  await t.rejects(world.worker.ended, { code: 'WORKER_GAVE_UP' })
})

t.test('a poll that is answered begins the count of refusals anew', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  for (let rounds = 0; rounds < 4; rounds++) {
    world.coordinator.take('lease').reject('OVERLOADED', 8000)
    await world.advance(8000)
    world.coordinator.take('lease').answer({ kind: 'empty' })
    await world.rest()
  }
  t.equal(world.worker.mode, 'leasing')
})

t.test(
  'a coordinator that asks for a longer pause than there is time ends it in time',
  async (t) => {
    await using world = await World.create({ giveUpAfterMs: 10_000 })
    world.coordinator.take('lease').reject('OVERLOADED', 3600_000)
    await world.advance(9999)
    t.equal(world.worker.mode, 'leasing')
    await world.advance(1)
    t.equal(world.worker.mode, 'stopped')
    t.equal(world.coordinator.all('lease').length, 1)
  },
)

t.test('a worker whose slots are taken gives up nothing while it is connected', async (t) => {
  await using world = await World.create({ giveUpAfterMs: 10_000 })
  await world.grant()
  for (let beats = 0; beats < 6; beats++) {
    await world.advance(heartbeatMs)
    await world.extend()
  }
  t.equal(world.worker.mode, 'running')
})

t.test('a worker that gives up lets the handler at hand run to its deadline', async (t) => {
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
  t.equal(world.calls('committed').length, 1, 'and reports when it can')
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
