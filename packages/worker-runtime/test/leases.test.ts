import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { type Armable, LateTimers } from '../src/attempt/late-timers.js'
import { deadlineMs, heartbeatMs, leaseMs, World, windowMs } from './world.js'

// ---- until when a worker may act (semantics §1)

t.test('the deadline is counted from when the request was sent', async (t) => {
  await using world = await World.create()
  world.delayMs = 500
  world.answerPoll()
  await world.advance(500)
  const [run] = world.isolation.runs
  await world.advance(deadlineMs - 500 - 1)
  t.strictSame(run?.abortCodes, [])
  await world.advance(1)
  t.strictSame(run?.abortCodes, ['WORKER_LEASE_LOST'], 'what the answer travelled is ours to lose')
})

t.test('a long poll does not eat the lease', async (t) => {
  await using world = await World.create()
  await world.advance(25_000)
  const run = await world.grant()
  await world.advance(deadlineMs - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('a poll that waited for a connection is counted from its sending, too', async (t) => {
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
})

t.test('the deadline leaves a margin for clocks that drift apart', async (t) => {
  await using world = await World.create({ clockDrift: 0.1 })
  const run = await world.grant()
  world.coordinator.isSilent = true
  await world.advance(0.9 * leaseMs - 2 - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('the margin is of the whole time, also of that for which a poll waited', async (t) => {
  await using world = await World.create({ clockDrift: 0.1, pollWaitMs: 100_000 })
  await world.advance(50_000)
  const run = await world.grant()
  world.coordinator.isSilent = true
  await world.advance(leaseMs - 0.1 * (50_000 + leaseMs) - 2 - 1)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_LEASE_LOST'])
})

t.test('a heartbeat refused for what it says is an error, and the lease is lost', async (t) => {
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
  t.match(world.coordinator.reports, [{ kind: 'fail', reason: /not started: .*no more threads/ }])
  world.isolation.onRun = () => undefined
  await world.grant()
})

t.test('a heartbeat moves the deadline, counted from when it was sent', async (t) => {
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

t.test('an answer to a heartbeat that promises less shortens nothing', async (t) => {
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

t.test('a loop that stood still past the deadline reports no failure', async (t) => {
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

t.test('a loop that stood still until just before it reports, and not late', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.stall(deadlineMs - 1)
  run.returns('done')
  await world.rest()
  t.equal(world.coordinator.reports.length, 1)
  t.strictSame(world.calls('reportedLate'), [])
})

t.test('a task whose lease is over when it arrives is not run', async (t) => {
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
  t.equal(world.coordinator.waiting('lease').length, 1, 'the slot is free for another one')
})

t.test('the wall clock decides nothing', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  world.clock.jump(24 * 3600_000)
  await world.advance(deadlineMs - 1)
  t.strictSame(run.abortCodes, [])
})

// ---- heartbeats

t.test('heartbeats come as often as the coordinator asks', async (t) => {
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

t.test(
  'the first heartbeat comes sooner when the lease does not hold for long any more',
  async (t) => {
    await using world = await World.create()
    await world.grant({ leaseMs: 8000 })
    await world.advance(3999 - 1)
    t.equal(world.coordinator.all('heartbeat').length, 0)
    await world.advance(1)
    t.equal(world.coordinator.all('heartbeat').length, 1)
  },
)

t.test('a heartbeat may take as long as the lease, whatever a request may', async (t) => {
  await using world = await World.create({ requestTimeoutMs: 2000 })
  await world.grant()
  await world.advance(deadlineMs - 1)
  t.equal(world.coordinator.all('heartbeat').length, 1)
  t.strictSame(world.calls('heartbeatFailed'), [])
})

t.test('a heartbeat refused in passing is followed by one while the lease lasts', async (t) => {
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

t.test('heartbeats that are refused in passing come sooner, and never many of them', async (t) => {
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

t.test('one heartbeat is under way at a time', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(deadlineMs - 1)
  t.equal(world.coordinator.all('heartbeat').length, 1)
})

t.test(
  'a heartbeat refused for good aborts what cannot be terminated, and frees the slot when it ends',
  async (t) => {
    await using world = await World.create()
    world.isolation.terminates = 'never'
    const run = await world.grant()
    await world.advance(heartbeatMs)
    world.coordinator.take('heartbeat').reject('TASK_TERMINAL')
    await world.rest()
    t.match(run.aborts, [{ code: 'WORKER_LEASE_LOST', message: /TASK_TERMINAL/ }])
    t.strictSame(world.words('leaseLost'), ['TASK_TERMINAL'])
    t.equal(world.coordinator.waiting('lease').length, 0)
    run.returns('late')
    await world.rest()
    t.equal(world.coordinator.waiting('lease').length, 1)
    t.strictSame(world.words('unreported'), ['LEASE_LOST'])
  },
)

t.test('a heartbeat that is refused after its handler ended is no news', async (t) => {
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
  t.test(
    `a heartbeat refused with ${reason} is tried again, and the deadline decides`,
    async (t) => {
      await using world = await World.create()
      const run = await world.grant()
      await world.advance(heartbeatMs)
      world.coordinator.take('heartbeat').reject(reason)
      await world.advance(heartbeatMs)
      t.equal(world.coordinator.all('heartbeat').length, 2)
      await world.extend()
      await world.advance(heartbeatMs)
      t.strictSame(run.abortCodes, [])
    },
  )
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

t.test(
  'a heartbeat is not sent after the deadline, however late the connection comes',
  async (t) => {
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
  },
)

t.test('a loop that stood still past the deadline sends no heartbeat', async (t) => {
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

t.test('a heartbeat is not sent again when its handler has ended meanwhile', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(heartbeatMs)
  await world.cut()
  run.returns('done')
  await world.advance(50)
  t.equal(world.coordinator.all('heartbeat').length, 1)
  t.equal(world.coordinator.reports.length, 1)
})

t.test('a coordinator that lets us in no more is not hammered with heartbeats', async (t) => {
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

t.test('at the end of the window the handler is told early enough to report', async (t) => {
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

t.test('of a short window no more than a tenth is kept back', async (t) => {
  await using world = await World.create({ abortGraceMs: 5000 })
  const run = await world.grant({ windowMs: 2000, leaseMs: 2000 })
  await world.advance(1797)
  t.strictSame(run.abortCodes, [])
  await world.advance(1)
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER'])
})

t.test('the deadline that a handler sees is when the window aborts it', async (t) => {
  await using world = await World.create({ abortGraceMs: 100 })
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  t.equal(run.work.deadline, world.clock.now() + 20_000 - 2 - 200)
})

t.test('a handler that returns after its window aborted it is complete', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(18_500)
  run.returns('just in time')
  await world.rest()
  t.match(world.coordinator.reports, [{ kind: 'complete', result: Buffer.from('just in time') }])
})

t.test('a handler that throws after its window aborted it has failed with a timeout', async (t) => {
  await using world = await World.create()
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(18_500)
  run.throws('AbortError: aborted')
  await world.rest()
  const reason = 'timeout: the execution window was over; AbortError: aborted'
  t.match(world.coordinator.reports, [{ kind: 'fail', reason }])
})

t.test('a window longer than the lease is kept alive by heartbeats until it is over', async (t) => {
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
  'nothing is reported after the deadline, though the window aborted the handler',
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

t.test('an abort of the window and the end of the lease terminate once', async (t) => {
  await using world = await World.create()
  world.isolation.terminates = 'never'
  const run = await world.grant({ windowMs: 20_000, leaseMs: 20_000 })
  await world.advance(100_000)
  t.strictSame(run.abortCodes, ['WORKER_WINDOW_OVER', 'WORKER_LEASE_LOST'])
  t.equal(world.calls('handlerStuck').length, 1)
  run.returns()
})

t.test('a worker that is granted a task anew has lost it before', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const run = await world.grant()
  const { taskId } = run.work
  const next = await world.grant({ taskId, attempt: 2 })
  t.equal(run.isTerminated, true)
  t.match(world.words('leaseLost'), ['GRANTED_ANEW'])
  t.strictSame(next.abortCodes, [])
})

// ---- timers that are set late

/** Notes when it was armed. */
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
  const timers = new LateTimers(clock, all)
  const begin = (dueInMs: number) => {
    const one = new Noting(clock, dueInMs)
    all.push(one)
    timers.begun(one)
    return one
  }
  return { clock, all, timers, begin, startMs: clock.monotonicMs() }
}

t.test('no timer is set for what ends at once', async (t) => {
  const { clock, all, begin } = setUp()
  const ended = begin(5000)
  all.pop()
  await clock.advance(1000)
  t.strictSame(ended.armedAtMs, [])
  t.equal(clock.timers, 0)
})

t.test('whoever is there after a while gets its timer, with all that began since', async (t) => {
  const { clock, begin, startMs } = setUp()
  const first = begin(5000)
  await clock.advance(200)
  const second = begin(5000)
  t.equal(clock.timers, 1, 'one serves them all')
  await clock.advance(50)
  t.strictSame([first.armedAtMs, second.armedAtMs], [[startMs + 250], [startMs + 250]])
  const third = begin(5000)
  await clock.advance(250)
  t.strictSame(third.armedAtMs, [startMs + 500])
})

t.test('what is due before that gets its timer at once', async (t) => {
  const { clock, begin, startMs } = setUp()
  t.strictSame(begin(250).armedAtMs, [startMs])
  t.equal(clock.timers, 0)
  t.strictSame(begin(251).armedAtMs, [])
  t.equal(clock.timers, 1)
})

t.test('stopped in between it leaves nothing', (t) => {
  const { clock, timers, begin } = setUp()
  begin(5000)
  timers.stop()
  t.equal(clock.timers, 0)
  t.end()
})
