import { type Clock, systemClock } from '@tenure/seams'
import {
  createState,
  getCounters,
  getLease,
  leasedTasks,
  position,
  skipTo,
} from '@tenure/state-machine'
import { SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { recover } from '../src/core/recovery.js'
import {
  type CheckpointMaker,
  type CoordinatorOptions,
  type Started,
  startCoordinator,
} from '../src/index.js'
import { PeerClient } from './peer-client.js'
import { otherWorker, World, worker } from './world.js'

const poll = { kind: 'lease', queues: ['default'], waitMs: 60_000 } as const

t.test('a poll that arrives while a TaskCancelled is in flight gets the next task', async (t) => {
  const world = await World.started()
  await world.submit()
  const { taskId, leaseId } = await world.lease()
  await world.clock.advance(30_000)
  world.send({ kind: 'complete', taskId, leaseId }, worker)
  const answers = world.send(poll, otherWorker)
  await world.clock.settle()
  t.match(answers, [{ kind: 'leased', taskId, attempt: 2 }])
})

t.test('a poison task is stopped even if its worker reports late every time', async (t) => {
  const world = await World.started({ poisonThreshold: 2 })
  const taskId = await world.submit()
  for (let attempt = 1; attempt <= 2; attempt++) {
    const { leaseId } = await world.lease()
    // Its report arrives in the event loop turn in which the lease expires, before the alarm fires.
    world.clock.oversleep(30_000)
    t.match(await world.ask({ kind: 'complete', taskId, leaseId }, worker), { kind: 'cancelled' })
  }
  t.match((await world.expect('task', { kind: 'get', taskId })).task, {
    state: 'DEAD',
    expiriesInARow: 2,
  })
  await world.check()
})

t.test('submissions in flight count towards the limits', async (t) => {
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

t.test(
  'a submission whose earlier task is being forgotten waits and creates a new task',
  async (t) => {
    const world = await World.started({ retentionMs: 1000 })
    const submission = { kind: 'submit', payload: Buffer.from('p'), requestId: 'r' } as const
    const { taskId } = (await world.ask(submission)) as { taskId: number }
    await world.ask({ kind: 'kill', taskId, reason: '' })
    await world.clock.advance(1000)
    world.coordinator.tidy()
    const again = world.send(submission)
    await world.clock.settle()
    t.match(again, [{ kind: 'submitted', known: false }])
    await world.check()
  },
)

t.test(
  'on a full disk submissions are rejected first, expiries are retried, and it recovers by itself',
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
    t.ok(rung.length < 40, `${rung.length} timers in forty seconds: no busy loop`)
    isFull = false
    await world.clock.advance(2000)
    t.match(await world.ask({ kind: 'heartbeat', taskId, leaseId }, worker), { reason: 'EXPIRED' })
    await world.check()
  },
)

t.test('a coordinator does not start if it has no space to record expired leases', async (t) => {
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
  await t.rejects(full.start(), { code: 'COORDINATOR_FAILED', message: /free some space/ })
})

t.test(
  'startup expires leases that are over when it begins; later ones may still be extended',
  async (t) => {
    const world = await World.started()
    const leases: { taskId: number; leaseId: number }[] = []
    for (let count = 0; count < 5; count++) {
      await world.submit()
      leases.push(await world.lease())
      await world.clock.advance(10)
    }
    await world.stop()
    // The first lease has just expired, and each write takes as long as it is until the next one expires.
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

t.test('a log failure without pending requests is reported once, and nothing throws', async (t) => {
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

t.test('replay skips several declared gaps in a row, and no other gap', async (t) => {
  const gaps = [
    { firstLsn: 1, lastLsn: 99 },
    { firstLsn: 100, lastLsn: 199 },
  ]
  const log = (nextLsn: number) => ({
    nextLsn,
    checkpointLsn: 0,
    gaps,
    async *readCheckpoint() {},
    async *replay() {},
  })
  t.equal(position(await recover(log(200))).lastLsn, 199)
  t.equal(position(await recover(log(1))).lastLsn, 0)
  await t.rejects(recover(log(201)), {
    code: 'HISTORY_UNDECLARED_GAP',
    message: /the log declares no gap/,
  })
  const state = createState()
  skipTo(state, 5)
  t.equal(position(state).lastLsn, 4)
})

t.test(
  'ended tasks are forgotten soon after their retention, however many there are',
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

t.test('ended tasks are forgotten at intervals, not with every batch', async (t) => {
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

// ---- restarts

const startMs = Date.UTC(2026, 6, 1)
const dayMs = 24 * 3_600_000

/** A disk, and clocks that only tests advance. */
class Machine {
  readonly disk = new SimulatedDisk()
  wallMs = startMs
  monotonicMs = 5000
  readonly clock: Clock = {
    ...systemClock,
    now: () => this.wallMs,
    monotonicMs: () => this.monotonicMs,
  }

  pass(ms: number): void {
    this.wallMs += ms
    this.monotonicMs += ms
  }

  /** Starts a coordinator and returns the facts of its `started` event. */
  async start(t: Test, { observer, log, ...options }: CoordinatorOptions = {}) {
    const started: Started[] = []
    const server = await startCoordinator({
      dataDir: '/data',
      port: 0,
      httpPort: 0,
      clock: this.clock,
      log: { disk: this.disk, clock: this.clock, ...log },
      observer: { ...observer, started: (start) => started.push(start) },
      ...options,
    })
    t.teardown(() => server.stop())
    const get = async (path: string) =>
      (await fetch(`http://127.0.0.1:${server.httpPort}${path}`)).text()
    return { server, started: started[0]!, get }
  }
}

const submit = { kind: 'submit', payload: Buffer.from('work') } as const
const lease = { kind: 'lease', queues: ['default'], waitMs: 0 } as const

t.test('restarts count the startups that became ready, except the first', async (t) => {
  const machine = new Machine()
  const first = await machine.start(t)
  t.match(first.started, { restarts: 0, epoch: 1 })
  const client = await PeerClient.open(first.server.port)
  const large = Buffer.alloc(200_000)
  t.match(await client.ask({ ...submit, payload: large }), { kind: 'submitted' })
  t.match(await client.ask({ kind: 'stats' }), { stats: { restarts: 0, epoch: 1 } })
  // The port is taken; the options are too small; the disk fails while the log is opened or replayed.
  await t.rejects(machine.start(t, { port: first.server.port }), {
    code: 'COORDINATOR_CANNOT_LISTEN',
  })
  await client.close()
  await first.server.stop()
  const small = {
    knobs: { payloadBytesMax: 100, resultBytesMax: 100 },
    limits: { frameBytesMax: 100_000 },
  }
  for (let round = 0; round < 2; round++) {
    await t.rejects(machine.start(t, small), { code: 'COORDINATOR_BAD_OPTION' })
  }
  const observer = {
    replaying: () => {
      throw new Error('killed during the replay')
    },
  }
  await t.rejects(machine.start(t, { observer }), /killed during the replay/)
  const { started, server, get } = await machine.start(t)
  t.match(started, { restarts: 1, epoch: 5 })
  const metrics = await get('/metrics')
  t.match(metrics, /^tenure_coordinator_restarts 1$/m)
  t.match(metrics, /^tenure_log_epoch 5$/m)
  const other = await PeerClient.open(server.port)
  t.match(await other.ask({ kind: 'stats' }), { stats: { restarts: 1, epoch: 5 } })
  await other.close()
})

t.test('a restart is counted before readiness is reported, whatever happens next', async (t) => {
  const machine = new Machine()
  await machine.start(t)
  const crashed = machine.disk.powerLoss({ keep: () => false })
  const { started } = await machine.start(t, { log: { disk: crashed } })
  t.match(started, { restarts: 1, epoch: 2 })
})

t.test('the recovery time is reported from the start of the process, with its parts', async (t) => {
  const machine = new Machine()
  const first = await machine.start(t)
  const client = await PeerClient.open(first.server.port)
  await client.ask(submit)
  await client.ask(lease)
  await client.close()
  await first.server.stop()
  machine.pass(dayMs)
  const beganMs = machine.monotonicMs
  machine.pass(10_000)
  const isHead = ({ kind, path }: { kind: string; path: string }) => {
    if (kind === 'open' && path.endsWith('HEAD')) takeOnce('open', 70)
    return false
  }
  const taken = new Set<string>()
  const takeOnce = (what: string, ms: number) => {
    if (!taken.has(what)) machine.pass(ms)
    taken.add(what)
  }
  machine.disk.failWhen(isHead, { kind: 'error', code: 'EIO' })
  const { started, get } = await machine.start(t, {
    recoveringSinceMs: beganMs,
    log: { observer: { committed: ({ records }) => records > 0 && takeOnce('expiry', 500) } },
    observer: { replaying: () => takeOnce('replay', 3000) },
  })
  const times = { openMs: 70, replayMs: 3000, checkpointMs: 0, expiryMs: 500, recoveryMs: 13_570 }
  t.match(started, times)
  t.strictSame(JSON.parse(await get('/readyz')), { isReady: true, ...times })
  const metrics = await get('/metrics')
  for (const line of [
    'tenure_recovery_seconds 13.57',
    'tenure_replay_seconds 3',
    'tenure_recovery_part_seconds{part="open"} 0.07',
    'tenure_recovery_part_seconds{part="replay"} 3',
    'tenure_recovery_part_seconds{part="checkpoint"} 0',
    'tenure_recovery_part_seconds{part="expiry"} 0.5',
  ]) {
    t.ok(metrics.includes(`\n${line}\n`), line)
  }
})

t.test('a startup reports by how much its log is ahead of the clock', async (t) => {
  const machine = new Machine()
  const told: number[] = []
  const observer = { clockBehind: (behindMs: number) => told.push(behindMs) }
  const live = async (changeMs: number) => {
    machine.wallMs += changeMs
    const { server } = await machine.start(t, { observer })
    await server.stop()
    return told.splice(0)
  }
  t.same(await live(0), [], 'a new log')
  t.same(await live(2 * dayMs), [], 'the clock jumps forward')
  t.same(await live(-2 * dayMs), [2 * dayMs], 'and back')
  t.same(await live(3_600_000), [2 * dayMs - 3_600_000])
  t.same(await live(2 * dayMs - 3_600_000), [], 'it has caught up')
  t.same(await live(-999), [], 'less than a second, which time services correct')
  t.same(await live(-1), [1000])
})

/** Makes checkpoints like a thread that never gets a core. */
function starved(): CheckpointMaker {
  let giveUp = () => {}
  return {
    make: () =>
      new Promise((_, reject) => {
        giveUp = () => reject(new Error('given up'))
      }),
    hurry() {},
    async stop() {
      giveUp()
    },
  }
}

t.test('a coordinator that keeps crashing replays no more than its limit', async (t) => {
  const machine = new Machine()
  const checkpoints = { replayMsMax: 10, historyMs: 0, historyBytesMax: 0 }
  // 4,000 records take 10 ms.
  const [most, perLife, lives] = [4000, 700, 20]
  let { disk } = machine
  const replayed: number[] = []
  let made = 0
  for (let life = 0; life < lives; life++) {
    const { server, started } = await machine.start(t, {
      checkpoints,
      checkpointMaker: starved(),
      httpPort: false,
      log: { disk },
      observer: { checkpointed: () => made++, checkpointFailed: (error) => t.fail(String(error)) },
    })
    replayed.push(started.replayed)
    const client = await PeerClient.open(server.port)
    await Promise.all(Array.from({ length: perLife }, () => client.ask(submit)))
    // Killed: nothing it does from now on reaches the next coordinator's disk.
    disk = SimulatedDisk.from(disk.snapshot()).powerLoss({ keep: () => false })
    client.socket.destroy()
  }
  t.ok(Math.max(...replayed) < most + perLife, `${replayed}`)
  t.ok(Math.max(...replayed) >= most, 'the limit was reached')
  t.equal(made, Math.floor((lives - 1) / Math.ceil(most / perLife)), 'one per run')
  const { started } = await machine.start(t, { httpPort: false, log: { disk } })
  t.equal(started.tasks, lives * perLife, 'and nothing is lost')
  t.equal(disk.files().filter((path) => path.endsWith('.ckpt')).length, 2)
})

t.test('a failed checkpoint at startup is reported, and startup continues', async (t) => {
  const machine = new Machine()
  const checkpoints = { replayMsMax: 10 }
  const first = await machine.start(t, { checkpointMaker: starved() })
  const client = await PeerClient.open(first.server.port)
  await Promise.all(Array.from({ length: 4001 }, () => client.ask(submit)))
  await client.close()
  await first.server.stop()
  machine.disk.failWhen(({ kind, path }) => kind === 'write' && path.includes('.ckpt'), {
    kind: 'error',
    code: 'ENOSPC',
  })
  const failures: unknown[] = []
  const { started, get } = await machine.start(t, {
    checkpoints,
    checkpointMaker: starved(),
    observer: { checkpointFailed: (error) => failures.push(error) },
  })
  t.match(failures, [{ code: 'WAL_NO_SPACE' }])
  t.equal(started.replayed, 4001)
  t.match(await get('/metrics'), /^tenure_checkpoints_total\{outcome="failed"\} 1$/m)
})
