import { TenureError } from '@tenure/client'
import t from 'tap'
import { WorkerMetrics } from '../src/observe/metrics.js'
import { transitions, type WorkerMode } from '../src/observe/observer.js'
import { deadlineMs, type Hook, heartbeatMs, World } from './world.js'

const committed = { kind: 'committed', state: 'COMPLETED' } as const

function modes(world: World): unknown[] {
  return world.calls('modeChanged').flat()
}

// ---- modes

t.test('the worker passes through the modes as drawn', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  t.equal(world.worker.mode, 'leasing')
  const [one, other] = [await world.grant(), await world.grant()]
  t.equal(world.worker.mode, 'running')
  one.returns()
  other.returns()
  await world.rest()
  t.equal(world.worker.mode, 'running', 'while reports are pending')
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'running')
  world.coordinator.take('complete').answer(committed)
  await world.rest()
  t.equal(world.worker.mode, 'leasing')
  await world.grant()
  await world.stop()
  const all = ['leasing', 'running', 'leasing', 'running', 'draining', 'stopped']
  t.strictSame(modes(world), all)
})

t.test('a worker without a task goes from leasing to draining', async (t) => {
  await using world = await World.create()
  await world.stop()
  t.strictSame(modes(world), ['leasing', 'draining', 'stopped'])
})

t.test('every mode except the last has a successor, and none leads back to idle', (t) => {
  for (const mode of Object.keys(transitions) as WorkerMode[]) {
    t.equal(transitions[mode].length === 0, mode === 'stopped')
    t.notOk(transitions[mode].includes('idle'))
  }
  t.end()
})

// ---- hooks

interface Scene {
  readonly hook: Hook
  readonly args: readonly unknown[]
  play(world: World): Promise<unknown>
}

const task = { taskId: 1, leaseId: 101, attempt: 1, queue: 'default' }

/** A handler that has ended, and its report. */
async function report(world: World) {
  const run = await world.grant()
  run.returns()
  await world.rest()
  return world.coordinator.take('complete')
}

const scenes: readonly Scene[] = [
  { hook: 'connected', args: [{ epoch: 1 }, 'coordinator:7411'], play: (world) => world.rest() },
  {
    hook: 'disconnected',
    args: [{ code: 'CLIENT_DISCONNECTED' }],
    play: (world) => world.cut(),
  },
  {
    hook: 'attemptFailed',
    args: [{ endpoint: 'coordinator:7411' }],
    async play(world) {
      world.coordinator.isDown = true
      await world.cut()
      await world.advance(50)
    },
  },
  { hook: 'modeChanged', args: ['leasing'], play: (world) => world.rest() },
  {
    hook: 'pollFailed',
    args: [{ reason: 'OVERLOADED' }, 50],
    async play(world) {
      world.coordinator.take('lease').reject('OVERLOADED', 50)
      await world.rest()
    },
  },
  { hook: 'leased', args: [task], play: (world) => world.grant() },
  {
    hook: 'extended',
    args: [task, deadlineMs],
    async play(world) {
      await world.grant()
      await world.advance(heartbeatMs)
      await world.extend()
    },
  },
  {
    hook: 'heartbeatFailed',
    args: [task, { reason: 'STOPPING' }],
    async play(world) {
      await world.grant()
      await world.advance(heartbeatMs)
      world.coordinator.take('heartbeat').reject('STOPPING')
      await world.rest()
    },
  },
  {
    hook: 'leaseLost',
    args: [task, 'DEADLINE'],
    async play(world) {
      await world.grant()
      await world.advance(deadlineMs)
    },
  },
  {
    hook: 'aborted',
    args: [task, 'WINDOW_OVER'],
    async play(world) {
      await world.grant({ windowMs: 1000 })
      await world.advance(1000)
    },
  },
  {
    hook: 'handlerStuck',
    args: [task],
    async play(world) {
      world.isolation.terminates = 'never'
      const run = await world.grant()
      await world.advance(deadlineMs + 5000)
      run.returns()
    },
  },
  {
    hook: 'handlerEnded',
    args: [task, { kind: 'failed', reason: 'Error: no' }, 1500, false],
    async play(world) {
      const run = await world.grant()
      await world.advance(1500)
      run.throws('Error: no')
    },
  },
  {
    hook: 'logged',
    args: [task, 'warn', 'careful', { really: true }],
    async play(world) {
      const run = await world.grant()
      run.log('warn', 'careful', { really: true })
    },
  },
  {
    hook: 'committed',
    args: [task, committed],
    async play(world) {
      const asked = await report(world)
      asked.answer(committed)
      await world.rest()
    },
  },
  {
    hook: 'cancelled',
    args: [task, { reason: 'EXPIRED' }],
    async play(world) {
      const asked = await report(world)
      asked.answer({ kind: 'cancelled', reason: 'EXPIRED' })
      await world.rest()
    },
  },
  {
    hook: 'rejected',
    args: [task, { reason: 'WRONG_WORKER' }, 'report'],
    async play(world) {
      const asked = await report(world)
      asked.reject('WRONG_WORKER')
      await world.rest()
    },
  },
  {
    hook: 'unreported',
    args: [task, 'LEASE_LOST'],
    async play(world) {
      const run = await world.grant()
      world.stall(deadlineMs)
      run.throws()
    },
  },
  {
    hook: 'reportedLate',
    args: [task],
    async play(world) {
      const run = await world.grant()
      await world.advance(deadlineMs)
      run.returns()
      await world.rest()
    },
  },
  {
    hook: 'protocolError',
    args: [{ reason: 'WRONG_WORKER' }, 'report'],
    async play(world) {
      const asked = await report(world)
      asked.reject('WRONG_WORKER')
      await world.rest()
    },
  },
  {
    hook: 'failed',
    args: [{ code: 'WORKER_PROTOCOL_ERROR' }],
    async play(world) {
      world.coordinator.take('lease').reject('FORBIDDEN')
      await world.rest()
    },
  },
]

for (const { hook, args, play } of scenes) {
  t.test(`the observer hook ${hook} is called`, async (t) => {
    await using world = await World.create()
    await play(world)
    t.match(world.calls(hook)[0], args)
    t.equal(world.calls(hook).length, 1)
    t.equal(world.calls(hook)[0]?.length, args.length)
  })
}

t.test('each answer calls one hook', async (t) => {
  await using world = await World.create()
  const asked = await report(world)
  asked.answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.rest()
  const hooks = world.told.map(({ hook }) => hook)
  t.strictSame(hooks, [
    ...(['connected', 'modeChanged', 'modeChanged', 'leased', 'handlerEnded'] as const),
    ...(['cancelled', 'modeChanged'] as const),
  ])
})

t.test('handlerEnded says whether the handler was aborted', async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(deadlineMs + 5000)
  t.match(world.calls('handlerEnded'), [[task, { kind: 'terminated' }, deadlineMs + 5000, true]])
})

t.test('onCancelled is called once, in addition to the observer', async (t) => {
  const calls: unknown[][] = []
  await using world = await World.create({ onCancelled: (...args) => calls.push(args) })
  const asked = await report(world)
  asked.answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.advance(60_000)
  t.match(calls, [[task, { reason: 'EXPIRED' }]])
  t.equal(world.calls('cancelled').length, 1)
})

t.test('hooks are called as methods of their observer', async (t) => {
  class Counter {
    granted = 0
    leased() {
      this.granted++
    }
  }
  const observer = new Counter()
  await using world = await World.create({ observer })
  await world.grant()
  t.equal(observer.granted, 1)
})

// ---- metrics

/** The worker's own series, by name and labels. */
async function series(world: World): Promise<Map<string, number>> {
  const text = await world.worker.metrics.text()
  const lines = text.split('\n').filter((line) => line.startsWith('tenure_worker_'))
  return new Map(lines.map((line) => [line.split(' ')[0]!, Number(line.split(' ')[1])]))
}

t.test('each series counts its events', async (t) => {
  await using world = await World.create({ concurrency: 9 })
  const { coordinator, isolation } = world
  const runs = [await world.grant(), await world.grant(), await world.grant(), await world.grant()]
  await world.advance(heartbeatMs)
  await world.extend()
  isolation.terminates = 'never'
  coordinator.take('heartbeat').reject('NO_SPACE')
  coordinator.take('heartbeat').reject('EXPIRED')
  await world.rest()
  await world.advance(5000)
  for (const run of runs.slice(0, 2)) run.returns()
  runs[2]?.returns()
  runs[3]?.throws()
  await world.rest()
  coordinator.take('complete').answer(committed)
  coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  coordinator.take('fail').reject('UNKNOWN_TASK')
  coordinator.take('lease').reject('OVERLOADED')
  await world.grant()
  const values = await series(world)
  const expected = {
    tenure_worker_slots: 9,
    tenure_worker_slots_taken: 1,
    tenure_worker_connected: 1,
    tenure_worker_connections_total: 1,
    tenure_worker_leases_total: 5,
    'tenure_worker_heartbeats_total{outcome="extended"}': 1,
    'tenure_worker_heartbeats_total{outcome="failed"}': 1,
    'tenure_worker_heartbeats_total{outcome="lost"}': 1,
    tenure_worker_lease_left_seconds_count: 1,
    tenure_worker_lease_left_seconds_sum: deadlineMs / 1000,
    'tenure_worker_leases_lost_total{reason="EXPIRED"}': 1,
    'tenure_worker_handler_seconds_count{outcome="returned"}': 3,
    'tenure_worker_handler_seconds_sum{outcome="returned"}': 45,
    'tenure_worker_handler_seconds_count{outcome="failed"}': 1,
    'tenure_worker_reports_total{answer="committed",reason=""}': 1,
    'tenure_worker_reports_total{answer="cancelled",reason="EXPIRED"}': 1,
    'tenure_worker_reports_total{answer="rejected",reason="UNKNOWN_TASK"}': 1,
    'tenure_worker_reports_total{answer="unreported",reason="LEASE_LOST"}': 1,
    tenure_worker_handlers_stuck_total: 1,
    tenure_worker_poll_failures_total: 1,
    tenure_worker_host_crashes_total: 0,
  }
  for (const [name, value] of Object.entries(expected)) t.equal(values.get(name), value, name)
})

t.test('each hook increments only its own series', async (t) => {
  const metrics = new WorkerMetrics(false)
  const { observer } = metrics
  const facts = { taskId: 1, queue: 'q', attempt: 1, leaseId: 2 }
  const error = new TenureError('CLIENT_DISCONNECTED', 'the connection is gone')
  const limits = { frameBytesMax: 1, payloadBytesMax: 1, resultBytesMax: 1, waitMsMax: 1 }
  const welcome = {
    version: 1,
    epoch: 1,
    leaseDurationMs: 1,
    heartbeatIntervalMs: 1,
    syncMode: 'always',
    limits: { ...limits, requestsInFlightMax: 1, pollsPerConnectionMax: 1 },
    log: 'ab'.repeat(16),
  }
  const cancelled = { kind: 'cancelled', id: 1, reason: 'SUPERSEDED' } as const
  const rejected = { kind: 'rejected', id: 1, reason: 'UNKNOWN_TASK', message: '' } as const
  const hooks: readonly (readonly [name: string, count: () => void])[] = [
    ['connections_total', () => observer.connected?.(welcome, 'h:1')],
    ['poll_failures_total', () => observer.pollFailed?.(error, 1)],
    ['leases_total', () => observer.leased?.(facts)],
    ['heartbeats_total{outcome="extended"}', () => observer.extended?.(facts, 1)],
    ['heartbeats_total{outcome="failed"}', () => observer.heartbeatFailed?.(facts, error)],
    ['leases_lost_total{reason="EXPIRED"}', () => observer.leaseLost?.(facts, 'EXPIRED')],
    ['leases_lost_total{reason="DEADLINE"}', () => observer.leaseLost?.(facts, 'DEADLINE')],
    ['handlers_stuck_total', () => observer.handlerStuck?.(facts)],
    [
      'handler_seconds_count{outcome="terminated"}',
      () => observer.handlerEnded?.(facts, { kind: 'terminated' }, 1, true),
    ],
    [
      'reports_total{answer="committed",reason=""}',
      () => observer.committed?.(facts, { ...committed, id: 1 }),
    ],
    [
      'reports_total{answer="cancelled",reason="SUPERSEDED"}',
      () => observer.cancelled?.(facts, cancelled),
    ],
    [
      'reports_total{answer="rejected",reason="UNKNOWN_TASK"}',
      () => observer.rejected?.(facts, rejected, 'report'),
    ],
    [
      'reports_total{answer="unreported",reason="NOT_SENT"}',
      () => observer.unreported?.(facts, 'NOT_SENT'),
    ],
    ['host_crashes_total', () => observer.hostCrashed?.('it ended')],
  ]
  for (const [index, [, count]] of hooks.entries())
    for (let times = 0; times <= index; times++) count()
  const text = await metrics.text()
  for (const [index, [name]] of hooks.entries())
    t.ok(text.includes(`\ntenure_worker_${name} ${index + 1}\n`), `${name} is ${index + 1}`)
})

t.test("a lease lost by the worker's clock is not counted as a lost heartbeat", async (t) => {
  await using world = await World.create()
  await world.grant()
  await world.advance(deadlineMs)
  const values = await series(world)
  t.equal(values.get('tenure_worker_leases_lost_total{reason="DEADLINE"}'), 1)
  t.equal(values.get('tenure_worker_heartbeats_total{outcome="lost"}'), undefined)
})

t.test('a lease lost by a second grant is not counted as a lost heartbeat', async (t) => {
  await using world = await World.create({ concurrency: 2 })
  const { taskId } = (await world.grant()).work
  await world.grant({ taskId, attempt: 2 })
  const values = await series(world)
  t.equal(values.get('tenure_worker_leases_lost_total{reason="GRANTED_ANEW"}'), 1)
  t.equal(values.get('tenure_worker_heartbeats_total{outcome="lost"}'), undefined)
})

t.test('a late report is counted, and so is its answer', async (t) => {
  await using world = await World.create()
  const run = await world.grant()
  await world.advance(deadlineMs)
  run.returns()
  await world.rest()
  world.coordinator.take('complete').answer({ kind: 'cancelled', reason: 'EXPIRED' })
  await world.rest()
  const values = await series(world)
  t.equal(values.get('tenure_worker_late_reports_total'), 1)
  t.equal(values.get('tenure_worker_reports_total{answer="cancelled",reason="EXPIRED"}'), 1)
})

t.test('protocol errors are counted by request and reason', async (t) => {
  await using world = await World.create({ concurrency: 3, keepGoing: true })
  for (let times = 0; times < 2; times++) {
    const run = await world.grant()
    run.returns()
    await world.rest()
    world.coordinator.take('complete').reject('WRONG_WORKER')
  }
  world.coordinator.take('lease').reject('FORBIDDEN')
  await world.rest()
  const values = await series(world)
  const name = 'tenure_worker_protocol_errors_total'
  t.equal(values.get(`${name}{request="report",reason="WRONG_WORKER"}`), 2)
  t.equal(values.get(`${name}{request="lease",reason="FORBIDDEN"}`), 1)
})

t.test('the connected gauge is 0 without a connection', async (t) => {
  await using world = await World.create()
  await world.cut()
  t.equal((await series(world)).get('tenure_worker_connected'), 0)
  await world.advance(50)
  t.equal((await series(world)).get('tenure_worker_connected'), 1)
  await world.stop()
  t.equal((await series(world)).get('tenure_worker_connected'), 0)
})

t.test('metrics are Prometheus text, optionally with those of the process', async (t) => {
  await using plain = await World.create()
  t.notMatch(await plain.worker.metrics.text(), 'tenure_process_cpu_seconds_total')
  await using world = await World.create({ processMetrics: true })
  t.match(world.worker.metrics.contentType, /^text\/plain; version=0\.0\.4/)
  t.match(await world.worker.metrics.text(), 'tenure_process_cpu_seconds_total')
})
