import { SimulatedClock, Uncaught } from '@tenure/testing'
import t from 'tap'
import { Ending } from '../src/attempt/ending.js'
import { WorkerError } from '../src/errors.js'
import { deadlineMs, heartbeatMs, World } from './world.js'

const committed = { kind: 'committed', state: 'COMPLETED' } as const
const drainGraceMs = 30_000
const abortGraceMs = 5000

t.test('stop without a task ends at once', async (t) => {
  await using world = await World.create({ concurrency: 3 })
  const stopping = world.worker.stop()
  t.equal(world.worker.mode, 'draining')
  await world.rest()
  await stopping
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.worker.isConnected, false)
  t.equal(world.isolation.isClosed, true)
  t.equal(world.network.size, 0)
  t.equal(world.clock.timers, 0)
})

t.test('waiting polls are withdrawn, and none is asked after stop', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const run = await world.grant()
  void world.worker.stop()
  await world.rest()
  const [poll] = world.coordinator.all('lease').slice(1)
  t.match(world.coordinator.all('withdraw'), [{ of: poll?.id }])
  run.returns()
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.coordinator.all('lease').length, 2)
})

t.test('a grant that arrives while draining is run', async (t) => {
  await using world = await World.create()
  world.coordinator.answersWithdrawals = false
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'draining')
  const run = await world.grant()
  t.equal(world.worker.mode, 'draining')
  run.returns()
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.calls('committed').length, 1)
  t.equal(world.worker.mode, 'stopped')
})

t.test('heartbeats go on while draining', async (t) => {
  await using world = await World.create({ drainGraceMs: 60_000 })
  const run = await world.grant()
  void world.worker.stop()
  for (let beats = 1; beats <= 5; beats++) {
    await world.advance(heartbeatMs)
    await world.extend()
    t.equal(world.coordinator.all('heartbeat').length, beats)
  }
  t.strictSame(run.abortCodes, [])
})

t.test('a handler that ends within the grace is reported, and its answer awaited', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  void world.worker.stop()
  await world.advance(5000)
  run.returns('done')
  await world.advance(1000)
  t.equal(world.worker.mode, 'draining')
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.calls('committed').length, 1)
})

/** A worker whose grace is over while a handler runs. */
async function drained(options = {}) {
  const world = await World.create({ drainGraceMs, abortGraceMs, ...options })
  const run = await world.grant({ leaseMs: 100_000 })
  void world.worker.stop()
  return { world, run }
}

t.test('when the grace is over the handler is aborted, then terminated', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  await world.advance(drainGraceMs - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_STOPPING'])
  t.strictSame(world.words('aborted'), ['STOPPING'])
  await world.advance(abortGraceMs - 1)
  t.equal(run.isTerminated, false)
  await world.advance(1)
  t.equal(run.isTerminated, true)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(world.words('unreported'), ['STOPPING'])
  t.strictSame(world.coordinator.reports, [])
})

t.test('a handler that returns in time after the abort is reported', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  await world.advance(drainGraceMs + 1000)
  run.returns('just in time')
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.calls('committed').length, 1)
  t.equal(world.worker.mode, 'stopped')
})

t.test('what a handler throws after the abort says nothing against the task', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  await world.advance(drainGraceMs + 1000)
  run.throws('AbortError: aborted')
  await world.rest()
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['STOPPING'])
  t.equal(world.worker.mode, 'stopped')
})

t.test('after the abort no heartbeat that was due prolongs the lease', async (t) => {
  const { world } = await drained({ drainGraceMs: 25_000, abortGraceMs: 60_000 })
  await using _ = world
  for (let beats = 1; beats <= 2; beats++) {
    await world.advance(heartbeatMs + 1000)
    await world.extend(100_000)
  }
  await world.advance(60_000)
  t.equal(world.coordinator.all('heartbeat').length, 2)
})

t.test('after the abort no heartbeat follows the one that was under way', async (t) => {
  const { world } = await drained({ abortGraceMs: 60_000 })
  await using _ = world
  await world.advance(drainGraceMs + 1000)
  await world.extend(100_000)
  await world.advance(50_000)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test('a grant that arrives when the grace is over is not begun', async (t) => {
  const { world } = await drained({ concurrency: 2, abortGraceMs: 20_000 })
  await using _ = world
  world.coordinator.answersWithdrawals = false
  await world.advance(drainGraceMs)
  world.answerPoll()
  await world.rest()
  t.equal(world.isolation.runs.length, 1)
  await world.stop()
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['STOPPING', 'STOPPING'])
})

t.test('nothing is granted any more when handlers can no longer be run', async (t) => {
  const { world } = await drained({ concurrency: 2 })
  await using _ = world
  world.coordinator.answersWithdrawals = false
  let connectionsAtClose: number | undefined
  world.isolation.onClose = () => {
    connectionsAtClose = world.network.size
  }
  await world.stop()
  t.equal(connectionsAtClose, 0)
})

t.test('a handler that cannot be terminated does not hold up the stop', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  world.isolation.terminates = 'never'
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.calls('handlerStuck').length, 1)
  t.strictSame(world.words('unreported'), ['STOPPING'])
  t.equal(world.clock.timers, 0)
  const told = world.told.length
  run.returns('much later')
  await world.advance(100_000)
  t.equal(world.told.length, told)
})

t.test('nor does one that does not go when it is terminated', async (t) => {
  const { world } = await drained()
  await using _ = world
  world.isolation.terminates = 'when told'
  world.isolation.closes = 'never'
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.calls('handlerStuck').length, 1)
  await world.advance(1000)
  t.equal(world.worker.mode, 'stopped')
})

t.test('a handler whose window was over before the worker stopped has timed out', async (t) => {
  await using world = await World.create({ drainGraceMs: 100 })
  world.isolation.terminates = 'when told'
  const run = await world.grant({ windowMs: 10_000, leaseMs: 10_000 })
  await world.advance(9000)
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER'])
  void world.worker.stop()
  await world.advance(100)
  run.throws()
  await world.rest()
  t.match(world.coordinator.reports, [{ kind: 'fail', reason: /^timeout/ }])
})

t.test('nor does one that has lost its lease before', async (t) => {
  await using world = await World.create({ drainGraceMs })
  world.isolation.terminates = 'never'
  const run = await world.grant({ leaseMs: 1000 })
  void world.worker.stop()
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
})

t.test('a report without an answer does not hold up the stop for ever', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  run.returns('done')
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
  t.equal(world.told.at(-1)?.hook, 'modeChanged', 'and it is told before the end')
})

t.test('a report that rests between two sendings is given up with the worker', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').reject('NO_SPACE', 90_000)
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
})

t.test(
  'an isolation that cannot be closed is told of, and everything else has ended',
  async (t) => {
    const world = await World.create()
    await world.grant()
    world.isolation.terminates = 'never'
    world.isolation.onClose = () => {
      throw new Error('it does not close')
    }
    const stopped = t.rejects(world.worker.stop(), { message: 'it does not close' })
    await world.advance(60_000)
    await stopped
    t.equal(world.worker.mode, 'stopped')
    t.equal(world.calls('unreported').length, 1)
    t.equal(world.clock.timers, 0)
  },
)

t.test('a callback that throws leaves nothing that holds up the stop', async (t) => {
  using uncaught = new Uncaught()
  const onCancelled = () => {
    throw new Error('the callback erred')
  }
  await using world = await World.create({ onCancelled })
  const run = await world.grant()
  run.returns('done')
  await world.rest()
  world.coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.rest()
  t.match(await uncaught.at(1), { message: 'the callback erred' })
  t.equal(world.worker.mode, 'leasing')
})

t.test('stop twice is stop once', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  const [first, second] = [world.worker.stop(), world.worker.stop()]
  t.equal(first, second)
  run.returns()
  await world.rest()
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  await first
  await world.worker.stop()
  await world.worker[Symbol.asyncDispose]()
  t.strictSame(world.calls('modeChanged').flat().slice(-2), ['draining', 'stopped'])
})

t.test('stop while disconnected, without a task, ends at once', async (t) => {
  await using world = await World.create()
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(10_000)
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.clock.timers, 0)
})

t.test('stop while disconnected waits for the handler, and reports when it can', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  world.coordinator.isDown = true
  await world.cut()
  run.returns('done')
  await world.advance(10_000)
  t.equal(world.worker.mode, 'draining')
  world.coordinator.isDown = false
  await world.advance(5000)
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.coordinator.all('lease').length, 1)
})

t.test('polls that wait for a connection are not sent after stop', async (t) => {
  const { world } = await drained({ concurrency: 3 })
  await using _ = world
  await world.rest()
  t.equal(world.coordinator.all('lease').length, 3)
  await world.cut()
  await world.advance(5000)
  t.equal(world.worker.isConnected, true)
  t.equal(world.coordinator.all('lease').length, 3)
})

t.test('polls that wait for a connection when stop is called are not sent', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  await world.grant({ leaseMs: 100_000 })
  await world.cut()
  void world.worker.stop()
  await world.advance(5000)
  t.equal(world.worker.isConnected, true)
  t.equal(world.coordinator.all('lease').length, 2)
})

t.test('stop while the coordinator is half-open ends after the grace', async (t) => {
  await using world = await World.create({ drainGraceMs })
  world.coordinator.isSilent = true
  void world.worker.stop()
  await world.advance(15_000)
  t.equal(world.worker.mode, 'draining', 'a task may still be on its way')
  await world.advance(drainGraceMs + abortGraceMs + 1000 - 15_000)
  t.equal(world.worker.mode, 'stopped')
})

t.test('a handler that loses its lease while draining is not reported', async (t) => {
  await using world = await World.create({ drainGraceMs: 60_000 })
  const run = await world.grant()
  world.coordinator.isSilent = true
  void world.worker.stop()
  await world.advance(deadlineMs)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
  await world.advance(abortGraceMs)
  t.equal(run.isTerminated, true)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
})

t.test('stop while polls rest leaves no timer behind', async (t) => {
  await using world = await World.create()
  world.coordinator.take('lease').reject('OVERLOADED', 3600_000)
  await world.rest()
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.clock.timers, 0)
})

t.test('stop without any grace aborts and terminates at once', async (t) => {
  await using world = await World.create({ drainGraceMs: 0, abortGraceMs: 0 })
  const run = await world.grant()
  void world.worker.stop()
  await world.rest()
  t.strictSame(run.abortCodes, ['WORKER_STOPPING'])
  t.equal(run.isTerminated, true)
  t.equal(world.worker.mode, 'stopped')
})

// ---- how one handler ends

t.test('a handler that goes in the moment in which it is terminated is not stuck', async (t) => {
  const clock = new SimulatedClock()
  const terminate = () => {
    ending.over()
    return true
  }
  const onStuck = () => t.fail('it is gone')
  const ending: Ending = new Ending({ abort: () => undefined, terminate }, clock, onStuck)
  ending.tell(new WorkerError('WORKER_WINDOW_OVER', 'over'), 1000)
  await clock.advance(1000)
  t.equal(clock.timers, 0)
})

t.test('a handler that is told a second time has no more grace than before', async (t) => {
  const clock = new SimulatedClock()
  let terminations = 0
  const terminate = () => ++terminations > 0
  const ending = new Ending({ abort: () => undefined, terminate }, clock, () => undefined)
  ending.tell(new WorkerError('WORKER_WINDOW_OVER', 'over'), 1000)
  ending.tell(new WorkerError('WORKER_LEASE_LOST', 'lost'), 5000)
  await clock.advance(999)
  t.equal(terminations, 0)
  await clock.advance(1)
  t.equal(terminations, 1)
  t.equal(ending.reason?.code, 'WORKER_WINDOW_OVER')
  ending.over()
  t.equal(clock.timers, 0)
})
