import t, { type Test } from 'tap'
import { DecisionTime } from '../src/decide/decision-time.js'
import { DiskWatch } from '../src/observe/disk-watch.js'
import { serveHttp } from '../src/observe/http-server.js'
import { Metrics } from '../src/observe/metrics.js'
import { RequestMetrics } from '../src/observe/request-metrics.js'
import type { Health } from '../src/observe/startup.js'
import { type World as Machine, otherWorker, World, worker } from './world.js'

// ---- metrics

const maxRetries = (count: number) =>
  ({ retryPolicy: { maxRetries: count, backoff: { kind: 'fixed', delayMs: 0 } } }) as const

/** Tasks in a queue of their own, each under a lease. */
async function lease(world: Machine, queue: string, count: number, session = worker, more = {}) {
  const leases: { taskId: number; leaseId: number }[] = []
  for (let index = 0; index < count; index++) await world.submit({ queue, ...more })
  for (let index = 0; index < count; index++) {
    const { taskId, leaseId } = await world.lease(session, [queue])
    leases.push({ taskId, leaseId })
  }
  return leases
}

/** A history in which every counter has a different value. */
async function live(world: Machine, metrics: Metrics): Promise<void> {
  await world.start(metrics.coordinatorObserver)
  for (let count = 0; count < 13; count++)
    await world.ask({ kind: 'kill', taskId: await world.submit({ queue: 'killed' }), reason: '' })
  await world.clock.advance(1000)
  world.coordinator.tidy()
  await world.clock.settle()

  // Leases that expire while the coordinator runs.
  const twice = await lease(world, 'twice', 2)
  await lease(world, 'again', 4)
  const late = await lease(world, 'late', 6)
  await lease(world, 'silent', 5)
  await world.clock.advance(30_000)
  const again = []
  for (const [queue, count] of [
    ['twice', 2],
    ['again', 4],
  ] as const) {
    for (let index = 0; index < count; index++) {
      const { taskId, leaseId } = await world.lease(otherWorker, [queue])
      again.push({ taskId, leaseId })
    }
  }
  for (const { taskId, leaseId } of [...twice, ...late])
    await world.ask({ kind: 'complete', taskId, leaseId }, worker)
  for (const { taskId, leaseId } of again)
    await world.ask({ kind: 'complete', taskId, leaseId }, otherWorker)

  // Leases that expire during a restart, after which the ended tasks are forgotten.
  await lease(world, 'started', 10)
  await world.stop()
  await world.clock.advance(30_000)
  await world.start(metrics.coordinatorObserver)

  for (const { taskId, leaseId } of await lease(world, 'done', 8)) {
    const complete = { kind: 'complete', taskId, leaseId, result: Buffer.alloc(100) } as const
    await world.ask(complete, worker)
  }
  for (const [queue, retries, count] of [
    ['failed', 0, 3],
    ['retried', 1, 7],
  ] as const) {
    for (const { taskId, leaseId } of await lease(world, queue, count, worker, maxRetries(retries)))
      await world.ask({ kind: 'fail', taskId, leaseId, reason: 'no' }, worker)
  }
  const [held] = await lease(world, 'held', 16)
  for (let count = 0; count < 9; count++) {
    await world.clock.advance(1)
    await world.ask({ kind: 'heartbeat', ...held! }, worker)
  }
  // The lag of a queue is the waiting time of its oldest task.
  await world.submit({ queue: 'waiting' })
  await world.clock.advance(1500)
}

/** The expected value of each scraped metric, all different. */
const expected = {
  tenure_tasks_created_total: 75,
  tenure_leases_granted_total: 67,
  tenure_leases_extended_total: 9,
  tenure_lease_expirations_total: 27,
  tenure_lease_expirations_at_start_total: 10,
  tenure_tasks_completed_total: 14,
  tenure_retries_total: 7,
  tenure_tasks_failed_total: 3,
  tenure_tasks_dead_total: 13,
  tenure_tasks_forgotten_total: 19,
  tenure_duplicate_executions_possible_total: 6,
  tenure_duplicate_executions_confirmed_total: 2,
  tenure_reports_refused_total: 8,
  tenure_leased_tasks: 16,
  tenure_waiting_tasks: 29,
  tenure_ended_tasks: 11,
  tenure_tasks_bytes: 1012,
  tenure_coordinator_restarts: 31,
  tenure_log_epoch: 41,
  tenure_recovery_seconds: 5,
  tenure_replay_seconds: 0.032,
  'tenure_recovery_part_seconds{part="open"}': 0.11,
  'tenure_recovery_part_seconds{part="checkpoint"}': 0.22,
  'tenure_recovery_part_seconds{part="expiry"}': 0.33,
  tenure_replay_estimate_seconds: 0.25,
  tenure_checkpoint_lsn: 1033,
  tenure_disk_free_bytes: 34_000,
  tenure_log_bytes: 35_000,
  tenure_clock_offset_seconds: 36,
  tenure_connections: 37,
  tenure_waiting_polls: 38,
  'tenure_queue_lag_seconds{queue="waiting"}': 1.5,
  'tenure_queue_lag_seconds{queue="retried"}': 1.509,
}

/** The metrics of the text: name with labels, and value. */
async function read(metrics: Metrics): Promise<ReadonlyMap<string, string>> {
  const lines = (await metrics.text()).split('\n')
  return new Map(lines.map((line) => line.split(' ') as [string, string]))
}

t.test('002 §8: each metric exports its own value', async (t) => {
  const world = new World({ retentionMs: 1000 })
  const metrics = new Metrics(false)
  await live(world, metrics)
  const time = new DecisionTime(world.clock, 0)
  world.clock.jump(-36_000)
  metrics.measure({
    state: world.state,
    time,
    epoch: 41,
    restarts: 31,
    recovery: { recoveryMs: 5000, openMs: 110, replayMs: 32, checkpointMs: 220, expiryMs: 330 },
    log: {
      sealedLsn: 1033,
      roll: async () => {},
      writeCheckpoint: async () => {},
      truncate: () => world.log.truncate(),
      nextLsn: 101_034,
      checkpointLsn: 1033,
      gaps: [],
      segments: [
        { firstLsn: 1, bytes: 15_000, usedBytes: 15_000, begunAt: 0 },
        { firstLsn: 1034, bytes: 20_000, usedBytes: 10_000, begunAt: 0 },
      ],
    },
    freeBytes: () => 34_000,
    connections: () => 37,
    waitingPolls: () => 38,
  })
  const told = await read(metrics)
  for (const [name, value] of Object.entries(expected)) t.equal(told.get(name), `${value}`, name)
  const values = Object.values(expected)
  t.equal(new Set(values).size, values.length, 'all values differ')
  await world.check()
})

const made = {
  lsn: 1,
  good: [1],
  replayed: 1,
  writeMs: 2000,
  removed: { segments: 0, bytes: 0, checkpoints: 0 },
}

t.test(
  'events of the log, its checkpoints and the loop are counted under their own names',
  async (t) => {
    const metrics = new Metrics(false)
    metrics.logObserver.committed?.({
      durationMs: 3,
      records: 7,
      appends: 2,
      bytes: 500,
      onLoop: true,
    })
    metrics.logObserver.committed?.({
      durationMs: 8,
      records: 4,
      appends: 1,
      bytes: 600,
      onLoop: false,
    })
    metrics.logObserver.spaceChanged?.(true)
    for (const replayMs of [13_000, 14_000, 15_000])
      metrics.checkpointObserver.checkpointed?.({ ...made, replayMs })
    metrics.checkpointObserver.checkpointFailed?.(new Error('no room'))
    metrics.coordinatorObserver.leaseMargin?.(12_000)
    metrics.coordinatorObserver.answered?.('ping', { kind: 'pong', id: 1 }, 19_000)
    const told = await read(metrics)
    for (const [name, value] of Object.entries({
      tenure_commit_seconds_sum: 0.011,
      tenure_commit_seconds_count: 2,
      'tenure_commit_seconds_bucket{le="0.005"}': 1,
      tenure_commit_records_sum: 11,
      'tenure_commit_records_bucket{le="4"}': 1,
      tenure_log_written_bytes_total: 1100,
      tenure_disk_full: 1,
      'tenure_checkpoints_total{outcome="made"}': 3,
      'tenure_checkpoints_total{outcome="failed"}': 1,
      tenure_checkpoint_seconds: 17,
      tenure_lease_margin_seconds_sum: 12,
      'tenure_requests_total{kind="ping",answer="pong"}': 1,
      'tenure_request_seconds_sum{kind="ping"}': 19,
    })) {
      t.equal(told.get(name), `${value}`, name)
    }
    metrics.logObserver.spaceChanged?.(false)
    t.equal((await read(metrics)).get('tenure_disk_full'), '0')
  },
)

t.test('requests are counted by kind and answer, rejections by reason', (t) => {
  const metrics = new RequestMetrics()
  metrics.answered('submit', { kind: 'submitted', id: 1, taskId: 1, known: false }, 0.2)
  metrics.answered('submit', { kind: 'submitted', id: 2, taskId: 2, known: false }, 3)
  metrics.answered('submit', { kind: 'rejected', id: 3, reason: 'NO_SPACE', message: '' }, 70_000)
  metrics.answered('ping', { kind: 'pong', id: 4 }, 0.5)
  const lines = metrics.text().split('\n')
  for (const line of [
    '# TYPE tenure_requests_total counter',
    'tenure_requests_total{kind="submit",answer="submitted"} 2',
    'tenure_requests_total{kind="submit",answer="NO_SPACE"} 1',
    'tenure_requests_total{kind="ping",answer="pong"} 1',
    '# TYPE tenure_request_seconds histogram',
    'tenure_request_seconds_bucket{le="0.0005",kind="submit"} 1',
    'tenure_request_seconds_bucket{le="0.002",kind="submit"} 1',
    'tenure_request_seconds_bucket{le="0.005",kind="submit"} 2',
    'tenure_request_seconds_bucket{le="60",kind="submit"} 2',
    'tenure_request_seconds_bucket{le="+Inf",kind="submit"} 3',
    'tenure_request_seconds_sum{kind="submit"} 70.0032',
    'tenure_request_seconds_count{kind="submit"} 3',
    'tenure_request_seconds_bucket{le="0.0005",kind="ping"} 1',
  ])
    t.ok(lines.includes(line), line)
  t.end()
})

// ---- the HTTP server

async function start(t: Test, metrics = new Metrics(true), health: Health = { isReady: true }) {
  const server = await serveHttp({ host: '127.0.0.1', port: 0, metrics, health: () => health })
  t.teardown(() => server.close())
  return (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`)
}

t.test('metrics and health are served, and an unknown path lists them', async (t) => {
  const ask = await start(t)
  t.equal(await (await ask('/healthz')).text(), 'alive\n')
  t.match(await (await ask('/metrics')).text(), /^# HELP tenure_/m)
  t.match(await (await ask('/')).text(), /\/healthz, \/readyz, \/metrics/)
})

t.test(
  'before requests are served /readyz returns 503 with the progress of the replay',
  async (t) => {
    const health = { isReady: false, replayed: { applied: 3, total: 7 } }
    const ask = await start(t, new Metrics(false), health)
    const answer = await ask('/readyz')
    t.equal(answer.status, 503)
    t.same(await answer.json(), health)
    t.equal((await (await start(t))('/readyz')).status, 200)
  },
)

t.test('failing metrics return 500 and affect nothing else', async (t) => {
  const metrics = new Metrics(true)
  metrics.text = () => Promise.reject(new Error('no metrics today'))
  const ask = await start(t, metrics)
  const answer = await ask('/metrics')
  t.equal(answer.status, 500)
  t.match(await answer.text(), /no metrics today/)
  t.equal((await ask('/healthz')).status, 200)
})

t.test('a port that is taken is a clear error', async (t) => {
  const metrics = new Metrics(false)
  const health = () => ({ isReady: true })
  const first = await serveHttp({ host: '127.0.0.1', port: 0, metrics, health })
  t.teardown(() => first.close())
  await t.rejects(serveHttp({ host: '127.0.0.1', port: first.port, metrics, health }), {
    code: 'COORDINATOR_CANNOT_LISTEN',
    message: /EADDRINUSE.*set httpPort to another port/,
  })
})

// ---- the room on the disk

t.test('low disk space is reported once, and so is its end', async (t) => {
  let free = 2000
  const told: (boolean | number)[][] = []
  const watch = new DiskWatch(1000, {
    diskLow: (...what) => told.push(what),
  })
  for (const bytes of [2000, 1000, 999, 500, 1000, 1099, 1100, 1050, 999]) {
    free = bytes
    await watch.refresh({ freeBytes: async () => free })
    t.equal(watch.freeBytes, bytes)
  }
  t.same(told, [
    [true, 999],
    [false, 1100],
    [true, 999],
  ])
})

t.test('a hanging disk is queried once', async (t) => {
  let asked = 0
  let answer = (_: number) => {}
  const hangs = {
    freeBytes() {
      asked++
      return new Promise<number>((resolve) => {
        answer = resolve
      })
    },
  }
  const watch = new DiskWatch(1000, {})
  const looks = [watch.refresh(hangs), watch.refresh(hangs), watch.refresh(hangs)]
  t.equal(asked, 1)
  answer(7)
  await Promise.all(looks)
  t.equal(watch.freeBytes, 7)
  watch.refresh(hangs).catch(() => {})
  t.equal(asked, 2)
})

t.test('a disk that does not report its free space counts as not low', async (t) => {
  const watch = new DiskWatch(1000, {
    diskLow: () => t.fail('told'),
  })
  await watch.refresh({ freeBytes: () => Promise.reject(new Error('EIO')) })
  t.ok(Number.isNaN(watch.freeBytes))
})
