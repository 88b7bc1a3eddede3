import { type Clock, systemClock } from '@tenure/seams'
import { SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import {
  type CheckpointMaker,
  type CoordinatorOptions,
  type Started,
  startCoordinator,
} from '../src/index.js'
import { PeerClient } from './peer-client.js'

const startMs = Date.UTC(2026, 6, 1)
const dayMs = 24 * 3_600_000

/** A disk, and clocks that move only when they are told. */
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

  /** Starts a coordinator, and gives what it said of its start. */
  async start(t: Test, { observer, log, ...options }: CoordinatorOptions = {}) {
    const started: Started[] = []
    const server = await startCoordinator({
      ...{ dataDir: '/data', port: 0, httpPort: 0, clock: this.clock },
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

t.test('restarts are the starts that became ready, without the first one', async (t) => {
  const machine = new Machine()
  const first = await machine.start(t)
  t.match(first.started, { restarts: 0, epoch: 1 })
  const client = await PeerClient.open(first.server.port)
  const large = Buffer.alloc(200_000)
  t.match(await client.ask({ ...submit, payload: large }), { kind: 'submitted' })
  t.match(await client.ask({ kind: 'stats' }), { stats: { restarts: 0, epoch: 1 } })
  // The port is taken; the options are too small; the disk fails while the log is opened, or replayed.
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

t.test(
  'a restart is counted before it says that it is ready, whatever becomes of it',
  async (t) => {
    const machine = new Machine()
    await machine.start(t)
    const crashed = machine.disk.powerLoss({ keep: () => false })
    const { started } = await machine.start(t, { log: { disk: crashed } })
    t.match(started, { restarts: 1, epoch: 2 })
  },
)

t.test('the whole recovery is told, from the start of the process, with its parts', async (t) => {
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

t.test('each start whose log is ahead of the clock says by how much', async (t) => {
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
  t.same(await live(2 * dayMs), [], 'the clock leaps forward')
  t.same(await live(-2 * dayMs), [2 * dayMs], 'and back')
  t.same(await live(3_600_000), [2 * dayMs - 3_600_000])
  t.same(await live(2 * dayMs - 3_600_000), [], 'it has caught up')
  t.same(await live(-999), [], 'less than a second is what time services correct')
  t.same(await live(-1), [1000])
})

/** Makes checkpoints as a thread does that never gets a processor. */
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

t.test('a coordinator that crashes again and again replays no more than its bound', async (t) => {
  const machine = new Machine()
  const checkpoints = { replayMsMax: 10, historyMs: 0, historyBytesMax: 0 }
  // 4,000 records are 10 ms.
  const [most, perLife, lives] = [4000, 700, 20]
  let { disk } = machine
  const replayed: number[] = []
  let made = 0
  for (let life = 0; life < lives; life++) {
    const { server, started } = await machine.start(t, {
      ...{ checkpoints, checkpointMaker: starved(), httpPort: false, log: { disk } },
      observer: { checkpointed: () => made++, checkpointFailed: (error) => t.fail(String(error)) },
    })
    replayed.push(started.replayed)
    const client = await PeerClient.open(server.port)
    await Promise.all(Array.from({ length: perLife }, () => client.ask(submit)))
    // Killed: of what it does from now on nothing reaches the disk of the next one.
    disk = SimulatedDisk.from(disk.snapshot()).powerLoss({ keep: () => false })
    client.socket.destroy()
  }
  t.ok(Math.max(...replayed) < most + perLife, `${replayed}`)
  t.ok(Math.max(...replayed) >= most, 'as much as the bound came together')
  t.equal(made, Math.floor((lives - 1) / Math.ceil(most / perLife)), 'one for each time')
  const { started } = await machine.start(t, { httpPort: false, log: { disk } })
  t.equal(started.tasks, lives * perLife, 'and nothing is lost')
  t.equal(disk.files().filter((path) => path.endsWith('.ckpt')).length, 2)
})

t.test(
  'a checkpoint that cannot be made at the start is told, and the start goes on',
  async (t) => {
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
      ...{ checkpoints, checkpointMaker: starved() },
      observer: { checkpointFailed: (error) => failures.push(error) },
    })
    t.match(failures, [{ code: 'WAL_NO_SPACE' }])
    t.equal(started.replayed, 4001)
    t.match(await get('/metrics'), /^tenure_checkpoints_total\{outcome="failed"\} 1$/m)
  },
)
