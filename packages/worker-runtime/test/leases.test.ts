import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { type Armable, DeferredTimers } from '../src/attempt/deferred-timers.js'
import { deadlineMs, heartbeatMs, leaseMs, World, windowMs } from './world.js'

// ---- how long a worker may act (semantics §1)

t.test('the deadline is counted from when the request was sent', async (t) => {
  await using world = await World.create()
  world.delayMs = 500
  world.answerPoll()
  await world.advance(500)
  const [run] = world.isolation.runs
  await world.advance(deadlineMs - 500 - 1)
  t.strictSame(run?.abortCodes, [])
  await world.advance(1)
  t.strictSame(
    run?.abortCodes,
    ['WORKER_LEASE_LOST'],
    'the travel time of the answer shortens the deadline',
  )
})

t.test('a long poll does not shorten the lease', async (t) => {
  await using world = await World.create()
  await world.advance(25_000)
  const run = await world.grant()
  await world.advance(deadlineMs - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test(
  'the deadline of a poll that waited for a connection is counted from its sending',
  async (t) => {
    await using world = await World.create()
    world.coordinator.isDown = true
    await world.cut()
    await world.advance(20_000)
    world.coordinator.isDown = false
    await world.advance(5000)
    const run = await world.grant()
    world.coordinator.isSilent = true
    await world.advance(20_000)
    t.strictSame(run.abortCodes, [])
  },
)

t.test('the deadline leaves a margin for clock drift', async (t) => {
  await using world = await World.create({ clockDrift: 0.1 })
  const run = await world.grant()
  world.coordinator.isSilent = true
  await world.advance(0.9 * leaseMs - 2 - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('the margin covers the whole time, including the wait of the poll', async (t) => {
  await using world = await World.create({ clockDrift: 0.1, pollWaitMs: 100_000 })
  await world.advance(50_000)
  const run = await world.grant()
  world.coordinator.isSilent = true
  await world.advance(leaseMs - 0.1 * (50_000 + leaseMs) - 2 - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('a heartbeat rejected as invalid is an error, and the lease is lost', async (t) => {
  for (const reason of ['MALFORMED', 'FORBIDDEN', 'UNKNOWN_TASK', 'WRONG_WORKER'] as const) {
    await using world = await World.create()
    await world.grant()
    await world.advance(heartbeatMs)
    world.coordinator.take('heartbeat').reject(reason)
    await world.rest()
    t.match(world.calls('rejected'), [[{}, { reason }, 'heartbeat']])
    t.strictSame(world.words('leaseLost'), [reason])
  }
})

t.test('a handler that cannot be started has crashed', async (t) => {
  await using world = await World.create()
  world.isolation.onRun = () => {
    throw new Error('no more threads')
  }
  world.answerPoll()
  await world.rest()
  t.match(world.coordinator.reports, [
    { kind: 'fail', reason: /could not be started: .*no more threads/ },
  ])
  world.isolation.onRun = () => undefined
  await world.grant()
})

t.test('a heartbeat moves the deadline, counted from its sending', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.delayMs = 1000
  await world.advance(heartbeatMs + 1000)
  await world.extend()
  await world.advance(1000)
  t.strictSame(world.words('extended'), [deadlineMs - 2000])
  world.coordinator.isSilent = true
  await world.advance(deadlineMs - 2000 - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('an answer to a heartbeat never shortens the deadline', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  await world.extend(1000)
  world.coordinator.isSilent = true
  await world.advance(deadlineMs - heartbeatMs - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('a loop that was blocked past the deadline reports no failure', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.stall(deadlineMs)
  run.throws()
  await world.rest()
  t.strictSame(world.words('leaseLost'), ['DEADLINE'])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  await world.advance(leaseMs)
  t.strictSame(world.coordinator.reports, [])
})

t.test('a loop that was blocked until just before the deadline reports in time', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.stall(deadlineMs - 1)
  run.returns('done')
  await world.rest()
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.calls('reportedLate'), [])
})

t.test('a task whose lease is over on arrival does not run', async (t) => {
  await using world = await World.create()
  world.delayMs = 1000
  world.answerPoll({ leaseMs: 1000 })
  await world.advance(1000)
  t.strictSame(world.isolation.runs, [])
  t.strictSame(world.words('leaseLost'), ['DEADLINE'])
  t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  t.equal(world.worker.mode, 'leasing')
  world.delayMs = 0
  await world.advance(leaseMs)
  t.equal(world.coordinator.waiting('lease').length, 1, 'the slot is free for another task')
})

t.test('the wall clock does not affect leases', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.clock.jump(24 * 3600_000)
  await world.advance(deadlineMs - 1)
  t.strictSame(run.abortCodes, [])
})

// ---- heartbeats

t.test('heartbeats follow the interval of the coordinator', async (t) => {
  await using world = await World.create({}, { heartbeatIntervalMs: 3000 })
  await world.grant()
  await world.advance(2999)
  t.equal(world.coordinator.all('heartbeat').length, 0)
  await world.advance(1)
  t.equal(world.coordinator.all('heartbeat').length, 1)
  await world.extend()
  await world.advance(2999)
  t.equal(world.coordinator.all('heartbeat').length, 1)
  await world.advance(1)
  t.equal(world.coordinator.all('heartbeat').length, 2)
})

t.test('the first heartbeat is sent earlier when little of the lease is left', async (t) => {
  await using world = await World.create()
  await world.grant({ leaseMs: 8000 })
  await world.advance(3999 - 1)
  t.equal(world.coordinator.all('heartbeat').length, 0)
  await world.advance(1)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test(
  'a heartbeat may take as long as the lease, regardless of the request timeout',
  async (t) => {
    await using world = await World.create({ requestTimeoutMs: 2000 })
    await world.grant()
    await world.advance(deadlineMs - 1)
    t.equal(world.coordinator.all('heartbeat').length, 1)
    t.strictSame(world.calls('heartbeatFailed'), [])
  },
)

t.test('another heartbeat follows a transient rejection while the lease lasts', async (t) => {
  await using world = await World.create()
  // Half of the lease is over when the first heartbeat is due.
  const run = await world.grant({ leaseMs: 2 * heartbeatMs })
  await world.advance(heartbeatMs)
  world.coordinator.take('heartbeat').reject('NO_SPACE', 100)
  await world.advance(heartbeatMs / 8)
  await world.extend()
  await world.advance(heartbeatMs)
  t.strictSame(run.abortCodes, [])
})

t.test('heartbeats after a transient rejection are sooner, but limited', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  while (run.abortCodes.length === 0) {
    await world.advance(10)
    if (world.coordinator.waiting('heartbeat').length > 0) {
      world.coordinator.take('heartbeat').reject('NO_SPACE')
    }
  }
  t.match(world.words('leaseLost'), ['DEADLINE'])
  const sent = world.coordinator.all('heartbeat').length
  t.ok(sent >= 3 && sent <= 12, `${sent} heartbeats`)
})

t.test('only one heartbeat is pending at a time', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(deadlineMs - 1)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test(
  'a rejected heartbeat aborts a handler that cannot be terminated, and its end frees the slot',
  async (t) => {
    await using world = await World.create()
    world.isolation.terminates = 'never'
    const run = await world.grant()
    await world.advance(heartbeatMs)
    world.coordinator.take('heartbeat').reject('TASK_TERMINAL')
    await world.rest()
    t.match(run.aborts, [
      { code: 'WORKER_LEASE_LOST', message: /heartbeat with TASK_TERMINAL, so the/ },
    ])
    t.strictSame(world.words('leaseLost'), ['TASK_TERMINAL'])
    t.equal(world.coordinator.waiting('lease').length, 0)
    run.returns('late')
    await world.rest()
    t.equal(world.coordinator.waiting('lease').length, 1)
    t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  },
)

t.test('a heartbeat rejected after its handler ended is ignored', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  run.returns('done')
  await world.rest()
  world.coordinator.take('heartbeat').reject('REPORTED')
  await world.rest()
  t.strictSame(world.calls('leaseLost'), [])
  world.coordinator.take('complete').answer({ kind: 'committed', state: 'COMPLETED' })
  await world.rest()
  t.equal(world.calls('committed').length, 1)
})

for (const reason of ['OVERLOADED', 'NO_SPACE', 'STOPPING', 'TOO_MANY'] as const) {
  t.test(`a heartbeat rejected with ${reason} is retried until the deadline`, async (t) => {
    await using world = await World.create()
    const run = await world.grant()
    await world.advance(heartbeatMs)
    world.coordinator.take('heartbeat').reject(reason)
    await world.advance(heartbeatMs)
    t.equal(world.coordinator.all('heartbeat').length, 2)
    await world.extend()
    await world.advance(heartbeatMs)
    t.strictSame(run.abortCodes, [])
  })
}

t.test('a heartbeat is sent again after a reconnect', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  await world.cut()
  await world.advance(50)
  t.equal(world.coordinator.all('heartbeat').length, 2)
  await world.extend()
  await world.advance(heartbeatMs)
  t.equal(world.coordinator.all('heartbeat').length, 3)
  t.strictSame(run.abortCodes, [])
})

t.test('the deadline is counted from the sending that was answered', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(heartbeatMs)
  await world.cut()
  await world.advance(50)
  await world.extend()
  t.strictSame(world.words('extended'), [deadlineMs])
})

t.test('a heartbeat that waits for a connection is not sent after the deadline', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(heartbeatMs)
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(deadlineMs - heartbeatMs)
  world.coordinator.isDown = false
  await world.advance(5000)
  t.equal(world.worker.isConnected, true)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test('a loop that was blocked past the deadline sends no heartbeat', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(heartbeatMs)
  world.coordinator.isDown = true
  await world.cut()
  world.stall(deadlineMs)
  world.coordinator.isDown = false
  await world.advance(1000)
  t.equal(world.worker.isConnected, true)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test('a heartbeat is not resent when its handler has ended', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  await world.cut()
  run.returns('done')
  await world.advance(50)
  t.equal(world.coordinator.all('heartbeat').length, 1)
  t.equal(world.coordinator.reports.length, 1)
})

t.test('a coordinator that rejects the worker is not flooded with heartbeats', async (t) => {
  await using world = await World.create()
  await world.grant()
  world.coordinator.refusal = 'UNAUTHORIZED'
  await world.advance(heartbeatMs)
  const before = world.coordinator.hellos.length
  await world.cut()
  await world.advance(leaseMs - heartbeatMs)
  const attempts = world.coordinator.hellos.length - before
  t.ok(attempts >= 1 && attempts <= 25, `${attempts} attempts in 20 seconds`)
})

// ---- the execution window

t.test('the end of the window aborts the handler early enough to report', async (t) => {
  await using world = await World.create({ abortGraceMs: 100 })
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(20_000 - 2 - 200 - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER'])
  t.strictSame(world.words('aborted'), ['WINDOW_OVER'])
  await world.advance(99)
  t.equal(run.isTerminated, false)
  await world.advance(1)
  t.equal(run.isTerminated, true)
  t.match(world.coordinator.reports, [{ kind: 'fail', reason: /^timeout/ }])
})

t.test('at most a tenth of a short window is reserved for the report', async (t) => {
  await using world = await World.create({ abortGraceMs: 5000 })
  const run = await world.grant({ windowMs: 2000, leaseMs: 2000 })
  await world.advance(1797)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER'])
})

t.test('the deadline passed to the handler is the time of the abort', async (t) => {
  await using world = await World.create({ abortGraceMs: 100 })
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  t.equal(run.work.deadline, world.clock.now() + 20_000 - 2 - 200)
})

t.test('a handler that returns after the window aborted it is completed', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(18_500)
  run.returns('just in time')
  await world.rest()
  t.match(world.coordinator.reports, [{ kind: 'complete', result: Buffer.from('just in time') }])
})

t.test('a handler that throws after the window aborted it fails with a timeout', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(18_500)
  run.throws('AbortError: aborted')
  await world.rest()
  const reason = 'timeout: the execution window is over; AbortError: aborted'
  t.match(world.coordinator.reports, [{ kind: 'fail', reason }])
})

t.test('heartbeats extend the lease until the end of a longer window', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  const endsAtMs = world.now + windowMs
  while (run.aborts.length === 0) {
    await world.advance(heartbeatMs)
    const left = endsAtMs - world.now
    if (world.coordinator.waiting('heartbeat').length > 0)
      await world.extend(Math.min(leaseMs, left))
  }
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER'])
  await run.throws()
  await world.rest()
  t.match(world.coordinator.reports, [{ kind: 'fail', reason: /^timeout/ }])
})

t.test(
  'an error after the deadline is not reported, although the window aborted the handler',
  async (t) => {
    await using world = await World.create()
    world.isolation.terminates = 'when told'
    const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
    await world.advance(20_000)
    t.equal(run.isTerminated, true)
    run.end({ kind: 'terminated' })
    await world.advance(leaseMs)
    t.strictSame(world.coordinator.reports, [])
    t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  },
)

t.test('the end of the window and of the lease terminate the handler once', async (t) => {
  await using world = await World.create()
  world.isolation.terminates = 'never'
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(100_000)
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER', 'WORKER_LEASE_LOST'])
  t.match(run.aborts.at(-1)?.message, /deadline has passed .* most likely drop the result$/)
  t.equal(world.calls('handlerStuck').length, 1)
  run.returns()
})

t.test('a second grant of a task means that its first lease is lost', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const run = await world.grant()
  const { taskId } = run.work
  const next = await world.grant({ taskId, attempt: 2 })
  t.equal(run.isTerminated, true)
  t.match(world.words('leaseLost'), ['GRANTED_ANEW'])
  t.strictSame(next.abortCodes, [])
})

t.test('a handler that cannot be terminated is told that its task was granted again', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  world.isolation.terminates = 'never'
  const run = await world.grant()
  await world.grant({ taskId: run.work.taskId, attempt: 2 })
  t.match(run.aborts, [{ message: /granted the same task again, so .* will be dropped$/ }])
  run.returns()
})

// ---- deferred timers

/** Records when it was armed. */
class Noting implements Armable {
  readonly armedAtMs: number[] = []
  readonly dueAtMs: number
  readonly #clock: SimulatedClock

  constructor(clock: SimulatedClock, dueInMs: number) {
    this.#clock = clock
    this.dueAtMs = clock.monotonicMs() + dueInMs
  }

  arm(): void {
    this.armedAtMs.push(this.#clock.monotonicMs())
  }
}

function setUp() {
  const clock = new SimulatedClock()
  const all: Noting[] = []
  const timers = new DeferredTimers(clock, all)
  const begin = (dueInMs: number) => {
    const one = new Noting(clock, dueInMs)
    all.push(one)
    timers.begun(one)
    return one
  }
  return { clock, all, timers, begin, startMs: clock.monotonicMs() }
}

t.test('no timer is set for executions that end quickly', async (t) => {
  const { clock, all, begin } = setUp()
  const ended = begin(5000)
  all.pop()
  await clock.advance(1000)
  t.strictSame(ended.armedAtMs, [])
  t.equal(clock.timers, 0)
})

t.test('after a while all executions get their timers', async (t) => {
  const { clock, begin, startMs } = setUp()
  const first = begin(5000)
  await clock.advance(200)
  const second = begin(5000)
  t.equal(clock.timers, 1, 'one timer arms all of them')
  await clock.advance(50)
  t.strictSame([first.armedAtMs, second.armedAtMs], [[startMs + 250], [startMs + 250]])
  const third = begin(5000)
  await clock.advance(250)
  t.strictSame(third.armedAtMs, [startMs + 500])
})

t.test('an execution that is due earlier gets its timer immediately', async (t) => {
  const { clock, begin, startMs } = setUp()
  t.strictSame(begin(250).armedAtMs, [startMs])
  t.equal(clock.timers, 0)
  t.strictSame(begin(251).armedAtMs, [])
  t.equal(clock.timers, 1)
})

t.test('stop leaves no timer', (t) => {
  const { clock, timers, begin } = setUp()
  begin(5000)
  timers.stop()
  t.equal(clock.timers, 0)
  t.end()
})
