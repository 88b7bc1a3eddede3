import { SimulatedClock, Uncaught } from '@tenure/testing'
import t from 'tap'
import { Termination } from '../src/attempt/termination.js'
import { WorkerError } from '../src/errors.js'
import { deadlineMs, heartbeatMs, World } from './world.js'

const committed = { kind: 'committed', state: 'COMPLETED' } as const
const drainGraceMs = 30_000
const abortGraceMs = 5000

t.test('stop without a task ends immediately', async (t) => {
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

t.test('stop withdraws waiting polls and sends no more', async (t) => {
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

t.test('a task granted while draining runs', async (t) => {
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

t.test('heartbeats continue while draining', async (t) => {
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

t.test('stop reports a handler that ends within the grace, and awaits the answer', async (t) => {
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

/** A worker whose drain grace ends while a handler runs. */
async function drained(options = {}) {
  const world = await World.create({ drainGraceMs, abortGraceMs, ...options })
  const run = await world.grant({ leaseMs: 100_000 })
  void world.worker.stop()
  return { world, run }
}

t.test('after the drain grace the handler is aborted, then terminated', async (t) => {
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

t.test('a result returned in time after the abort is reported', async (t) => {
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

t.test('an error thrown after the abort is not reported as a failure', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  await world.advance(drainGraceMs + 1000)
  run.throws('AbortError: aborted')
  await world.rest()
  t.strictSame(world.coordinator.reports, [])
  t.strictSame(world.words('unreported'), ['STOPPING'])
  t.equal(world.worker.mode, 'stopped')
})

t.test('after the abort no due heartbeat is sent', async (t) => {
  const { world } = await drained({ drainGraceMs: 25_000, abortGraceMs: 60_000 })
  await using _ = world
  for (let beats = 1; beats <= 2; beats++) {
    await world.advance(heartbeatMs + 1000)
    await world.extend(100_000)
  }
  await world.advance(60_000)
  t.equal(world.coordinator.all('heartbeat').length, 2)
})

t.test('after the abort no heartbeat follows the pending one', async (t) => {
  const { world } = await drained({ abortGraceMs: 60_000 })
  await using _ = world
  await world.advance(drainGraceMs + 1000)
  await world.extend(100_000)
  await world.advance(50_000)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test('a task granted after the grace is not started', async (t) => {
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

t.test('no task is granted once handlers can no longer run', async (t) => {
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

t.test('a handler that cannot be terminated does not delay the stop', async (t) => {
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

t.test('a terminated handler that does not disappear does not delay the stop', async (t) => {
  const { world } = await drained()
  await using _ = world
  world.isolation.terminates = 'when told'
  world.isolation.closes = 'never'
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.calls('handlerStuck').length, 1)
  await world.advance(1000)
  t.equal(world.worker.mode, 'stopped')
})

t.test('a handler whose window ended before the stop fails with a timeout', async (t) => {
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

t.test('a handler that has lost its lease does not delay the stop', async (t) => {
  await using world = await World.create({ drainGraceMs })
  world.isolation.terminates = 'never'
  const run = await world.grant({ leaseMs: 1000 })
  void world.worker.stop()
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
})

t.test('an unanswered report does not delay the stop forever', async (t) => {
  const { world, run } = await drained()
  await using _ = world
  run.returns('done')
  await world.advance(drainGraceMs + abortGraceMs + 1000)
  t.equal(world.worker.mode, 'stopped')
  t.strictSame(world.words('unreported'), ['UNKNOWN'])
  t.equal(world.told.at(-1)?.hook, 'modeChanged', 'and the observer is called before the end')
})

t.test('a report that waits to be resent is given up when the worker stops', async (t) => {
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
  'stop rejects if the isolation cannot be closed, after everything else has ended',
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

t.test('a callback that throws does not delay the stop', async (t) => {
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

t.test('a second stop returns the first promise', async (t) => {
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

t.test('stop without a task ends immediately while disconnected', async (t) => {
  await using world = await World.create()
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(10_000)
  void world.worker.stop()
  await world.rest()
  t.equal(world.worker.mode, 'stopped')
  t.equal(world.clock.timers, 0)
})

t.test(
  'stop while disconnected waits for the handler, and reports after reconnecting',
  async (t) => {
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
  },
)

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

t.test('stop discards polls that wait for a connection', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  await world.grant({ leaseMs: 100_000 })
  await world.cut()
  void world.worker.stop()
  await world.advance(5000)
  t.equal(world.worker.isConnected, true)
  t.equal(world.coordinator.all('lease').length, 2)
})

t.test('stop with a half-open connection ends after the grace', async (t) => {
  await using world = await World.create({ drainGraceMs })
  world.coordinator.isSilent = true
  void world.worker.stop()
  await world.advance(15_000)
  t.equal(world.worker.mode, 'draining', 'a task may still arrive')
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

t.test('stop without any grace aborts and terminates immediately', async (t) => {
  await using world = await World.create({ drainGraceMs: 0, abortGraceMs: 0 })
  const run = await world.grant()
  void world.worker.stop()
  await world.rest()
  t.strictSame(run.abortCodes, ['WORKER_STOPPING'])
  t.equal(run.isTerminated, true)
  t.equal(world.worker.mode, 'stopped')
})

// ---- the end of a single handler

t.test('a handler that ends while it is terminated is not stuck', async (t) => {
  const clock = new SimulatedClock()
  const terminate = () => {
    termination.finish()
    return true
  }
  const onStuck = () => t.fail('it is gone')
  const termination: Termination = new Termination(
    { abort: () => undefined, terminate },
    clock,
    onStuck,
  )
  termination.abort(new WorkerError('WORKER_WINDOW_OVER', 'over'), 1000)
  await clock.advance(1000)
  t.equal(clock.timers, 0)
})

t.test('a second abort does not extend the grace', async (t) => {
  const clock = new SimulatedClock()
  let terminations = 0
  const terminate = () => ++terminations > 0
  const termination = new Termination({ abort: () => undefined, terminate }, clock, () => undefined)
  termination.abort(new WorkerError('WORKER_WINDOW_OVER', 'over'), 1000)
  termination.abort(new WorkerError('WORKER_LEASE_LOST', 'lost'), 5000)
  await clock.advance(999)
  t.equal(terminations, 0)
  await clock.advance(1)
  t.equal(terminations, 1)
  t.equal(termination.reason?.code, 'WORKER_WINDOW_OVER')
  termination.finish()
  t.equal(clock.timers, 0)
})
