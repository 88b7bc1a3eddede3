import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Extended,
  encodeAnswer,
  encodeRequest,
  type Leased,
  type Request,
  roles,
  type Welcome,
} from '@tenure/protocol'
import { decodeRecord } from '@tenure/state-machine'
import { documentedDefaults } from '@tenure/testing'
import { type Disk, nodeDisk, verifyLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { CoordinatorError, type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { Gate } from '../src/net/gate.js'
import { shareOpenFiles } from '../src/options/open-files.js'
import { resolveOptions } from '../src/options/options.js'
import { PeerClient } from './peer-client.js'

async function start(t: Test, options: CoordinatorOptions = {}) {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tenure-')))
  const server = await startCoordinator({ dataDir, port: 0, httpPort: 0, ...options })
  t.teardown(async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  return { server, dataDir, port: server.port }
}

const submit = { kind: 'submit', payload: Buffer.from('work') } as const
const lease = { kind: 'lease', queues: ['default'], waitMs: 0 } as const

t.test('the life of a task, through a socket', async (t) => {
  const { port } = await start(t)
  const producer = await PeerClient.open(port, { role: 'produce', name: 'p' })
  const worker = await PeerClient.open(port, { role: 'work' })
  t.match(await producer.ask(submit), { kind: 'submitted', taskId: 1 })
  const leased = await worker.ask(lease)
  t.match(leased, { kind: 'leased', taskId: 1, payload: Buffer.from('work') })
  const { taskId, leaseId } = leased as { taskId: number; leaseId: number }
  t.match(await worker.ask({ kind: 'heartbeat', taskId, leaseId }), { kind: 'extended' })
  const result = Buffer.from('done')
  t.match(await worker.ask({ kind: 'complete', taskId, leaseId, result }), { kind: 'committed' })
  t.match(await producer.ask({ kind: 'get', taskId }), { task: { state: 'COMPLETED', result } })
  await Promise.all([producer.close(), worker.close()])
})

t.test('answers arrive in any order: a waiting poll blocks no other request', async (t) => {
  const { port } = await start(t)
  const client = await PeerClient.open(port)
  const poll = client.ask({ ...lease, waitMs: 60_000 })
  t.match(await client.ask({ kind: 'ping' }), { kind: 'pong' })
  await client.ask(submit)
  t.match(await poll, { kind: 'leased', taskId: 1 })
  await client.close()
})

t.test('state survives a restart, and the restart is counted', async (t) => {
  const { server, dataDir, port } = await start(t)
  const client = await PeerClient.open(port)
  await client.ask({ ...submit, requestId: 'r' })
  const { leaseId } = (await client.ask(lease)) as { leaseId: number }
  await server.stop()
  await client.closed
  const again = await start(t, { dataDir })
  const other = await PeerClient.open(again.port)
  t.match(await other.ask({ ...submit, requestId: 'r' }), { taskId: 1, known: true })
  t.match(await other.ask({ kind: 'complete', taskId: 1, leaseId }), { kind: 'committed' })
  const metrics = await (await fetch(`http://127.0.0.1:${again.server.httpPort}/metrics`)).text()
  t.match(metrics, /^tenure_coordinator_restarts 1$/m)
  await other.close()
})

t.test('the welcome names the log, with the same id after a restart', async (t) => {
  const { server, dataDir, port } = await start(t)
  const { logId } = await verifyLog(dataDir)
  const first = new PeerClient(port)
  t.match(await first.greet(), { epoch: 1, log: logId })
  await server.stop()
  await first.closed
  const again = await start(t, { dataDir })
  const second = new PeerClient(again.port)
  t.match(await second.greet(), { epoch: 2, log: logId })
  const other = await start(t)
  const third = new PeerClient(other.port)
  const { log } = (await third.greet()) as Welcome
  t.match(log, /^[0-9a-f]{32}$/)
  t.not(log, logId)
  await Promise.all([second.close(), third.close()])
})

t.test('002 §8: all required facts are observable', async (t) => {
  const { server, port } = await start(t)
  const client = await PeerClient.open(port)
  await client.ask({ ...submit, queue: 'mail' })
  const text = async (path: string) =>
    (await fetch(`http://127.0.0.1:${server.httpPort}${path}`)).text()
  const metrics = await text('/metrics')
  for (const name of [
    'tenure_leased_tasks 0',
    'tenure_waiting_tasks 1',
    'tenure_lease_expirations_total 0',
    'tenure_duplicate_executions_possible_total 0',
    'tenure_duplicate_executions_confirmed_total 0',
    'tenure_reports_refused_total 0',
    'tenure_retries_total 0',
    'tenure_coordinator_restarts 0',
    'tenure_log_epoch 1',
    'tenure_replay_seconds 0',
    'tenure_queue_lag_seconds{queue="mail"} 0',
    'tenure_connections 1',
    'tenure_requests_total{kind="submit",answer="submitted"} 1',
  ]) {
    t.ok(metrics.includes(`\n${name}`), name)
  }
  t.equal(await text('/healthz'), 'alive\n')
  const replaySeconds = /^tenure_replay_seconds (.*)$/m.exec(metrics)?.[1]
  const ready = JSON.parse(await text('/readyz'))
  t.strictSame(
    [ready.isReady, ready.replayMs],
    [true, Math.round(Number(replaySeconds) * 1000)],
    'both report the replay time, one of them in whole milliseconds',
  )
  t.equal((await fetch(`http://127.0.0.1:${server.httpPort}/other`)).status, 404)
  await client.close()
})

t.test('before the handshake only the handshake is possible', async (t) => {
  const { port } = await start(t)
  const client = new PeerClient(port)
  client.socket.write(encodeRequest({ kind: 'ping', id: 1 }))
  await client.closed
  t.pass('the connection was closed')
})

t.test('a token grants its roles', async (t) => {
  const tokens = [
    { token: 'secret', roles: ['produce', 'work', 'admin'] as const },
    { token: 'for workers', roles: ['work'] as const },
  ]
  const { port } = await start(t, { tokens })
  const greet = async (hello: object) => {
    const client = new PeerClient(port)
    const greeting = await client.greet(hello)
    client.socket.destroy()
    return greeting
  }
  t.match(await greet({}), { reason: 'UNAUTHORIZED' })
  t.match(await greet({ token: 'wrong' }), { reason: 'UNAUTHORIZED' })
  t.match(await greet({ token: 'secret' }), { version: 1 })
  t.match(await greet({ token: 'for workers' }), { reason: 'FORBIDDEN' })
  t.match(await greet({ token: 'for workers', role: 'work' }), {
    version: 1,
    leaseDurationMs: 30_000,
  })
})

t.test('a role may send its own requests', async (t) => {
  const { port } = await start(t)
  const producer = await PeerClient.open(port, { role: 'produce' })
  t.match(await producer.ask(lease), { kind: 'rejected', reason: 'FORBIDDEN' })
  t.match(await producer.ask(submit), { kind: 'submitted' })
  const worker = await PeerClient.open(port, { role: 'work' })
  t.match(await worker.ask(submit), { reason: 'FORBIDDEN' })
  t.match(await worker.ask({ kind: 'kill', taskId: 1, reason: '' }), { reason: 'FORBIDDEN' })
  const admin = await PeerClient.open(port, { role: 'admin' })
  for (const asked of [
    { kind: 'why', taskId: 1 },
    { kind: 'history', taskId: 1, fromLsn: 1 },
  ] as const) {
    t.match(await worker.ask(asked), { reason: 'FORBIDDEN' })
    for (const may of [producer, admin]) t.equal((await may.ask(asked)).kind, asked.kind)
  }
  await admin.close()
  await Promise.all([producer.close(), worker.close()])
})

t.test('a role may send what docs/protocol.md lists, and nothing else', (t) => {
  const page = readFileSync(new URL('../../../../docs/protocol.md', import.meta.url), 'utf8')
  const listed = (role: string) =>
    new RegExp(`^\\| \`${role}\` \\| ([^|]*) \\|$`, 'm').exec(page)?.[1]?.split(', ') ?? []
  const all: { readonly [K in Request['kind']]: true } = {
    submit: true,
    lease: true,
    heartbeat: true,
    complete: true,
    fail: true,
    kill: true,
    get: true,
    list: true,
    workers: true,
    stats: true,
    ping: true,
    withdraw: true,
    why: true,
    history: true,
    checkpoint: true,
  }
  const kinds = Object.keys(all) as Request['kind'][]
  for (const role of roles) {
    const named = listed(role)
    t.ok(named.length > 0, `${role} is listed`)
    const may = role === 'admin' ? kinds : kinds.filter((kind) => named.includes(kind))
    t.strictSame(
      kinds.filter((kind) => Gate.mayAsk(role, kind)),
      may,
      role,
    )
  }
  t.end()
})

t.test('a peer with another protocol version is rejected by version number', async (t) => {
  const { port } = await start(t)
  const client = new PeerClient(port)
  // [0, 9]: a hello of version 9.
  client.socket.write(Buffer.from([0, 0, 0, 3, 0x92, 0x00, 0x09]))
  const greeting = client.greet()
  t.match(await greeting, {
    reason: 'UNSUPPORTED_VERSION',
    message: /^unsupported protocol version 9; .* version 1$/,
  })
  await client.closed
})

t.test('invalid data ends the connection with one rejection', async (t) => {
  const { port } = await start(t)
  const client = await PeerClient.open(port)
  client.socket.write(Buffer.from([0, 0, 0, 1, 0xc1]))
  await client.closed
  t.match(client.farewell, { kind: 'rejected', reason: 'PROTOCOL' })
  const large = await PeerClient.open(port)
  large.socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]))
  await large.closed
  t.match(large.farewell, { reason: 'PROTOCOL', message: /4294967295 bytes/ })
})

t.test('connections over the limit are rejected', async (t) => {
  const { port } = await start(t, { limits: { connectionsMax: 2 } })
  const clients = [await PeerClient.open(port), await PeerClient.open(port)]
  const third = new PeerClient(port)
  // An accepted client is not disconnected, so the test would wait for it.
  if (!t.match(await third.greet(), { reason: 'TOO_MANY', message: /\(connectionsMax\)/ }))
    third.socket.destroy()
  await third.closed
  await clients[0]?.close()
  clients.push(await PeerClient.open(port))
  await Promise.all(clients.map((client) => client.close()))
})

t.test(
  'the connection limit leaves enough descriptors for the log',
  { skip: process.platform !== 'linux' && 'only Linux tells how many there are' },
  async (t) => {
    const told: number[] = []
    const observer = { fewerConnections: (connectionsMax: number) => told.push(connectionsMax) }
    await start(t, { observer, limits: { connectionsMax: 100 } })
    t.same(told, [])
    await start(t, { observer, limits: { connectionsMax: 2 ** 31 - 1 } })
    const openFilesMax = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }))
    t.same(told, [shareOpenFiles(openFilesMax).connections])
    t.ok(told[0]! < openFilesMax - 150)
  },
)

t.test('waiting lease requests are limited over all connections', async (t) => {
  const { port } = await start(t, { limits: { waitingPollsMax: 2 } })
  const clients = [await PeerClient.open(port), await PeerClient.open(port)]
  const poll = { ...lease, waitMs: 60_000 }
  const waiting = clients.map((client) => client.ask(poll))
  for (const client of clients) await client.ask({ kind: 'ping' })
  t.match(await clients[0]!.ask(poll), {
    reason: 'TOO_MANY',
    retryAfterMs: 1000,
    message: /waitingPollsMax/,
  })
  t.match(await clients[0]!.ask(lease), { kind: 'empty' }, 'a request that does not wait is served')
  await clients[1]!.ask(submit)
  t.match(await Promise.race(waiting), { kind: 'leased' })
  await Promise.all(clients.map((client) => client.close()))
})

t.test('every request of a burst over the in-flight limit is answered', async (t) => {
  const { port } = await start(t, { limits: { requestsInFlightMax: 8 } })
  const client = await PeerClient.open(port)
  const answers = await Promise.all(Array.from({ length: 500 }, () => client.ask(submit)))
  t.equal(new Set(answers.map((answer) => 'taskId' in answer && answer.taskId)).size, 500)
  await client.close()
})

t.test('the README lists every default', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const { dataDir, host, port, httpHost, httpPort, diskLowBytes, ...parts } = resolveOptions({})
  const { knobs, checkpoints, limits } = parts
  const under = (path: string, values: object) =>
    Object.entries(values).map(([name, value]) => [`${path}.${name}`, value])
  t.strictSame(Object.fromEntries(documentedDefaults(readme)), {
    dataDir,
    host,
    port,
    httpHost,
    httpPort,
    diskLowBytes,
    ...limits,
    ...Object.fromEntries([...under('knobs', knobs), ...under('checkpoints', checkpoints)]),
  })
  t.end()
})

t.test('a bad option fails startup, with its path and range', async (t) => {
  const refused = (options: CoordinatorOptions, code: string, message: RegExp) =>
    t.rejects(startCoordinator({ port: 0, httpPort: false, ...options }), { code, message })
  await refused(
    { knobs: { leaseDurationMs: 5 } },
    'COORDINATOR_BAD_OPTION',
    /knobs.leaseDurationMs is 5; .* 10 to/,
  )
  await refused(
    { knobs: { heartbeatIntervalMs: 15_001 } },
    'COORDINATOR_BAD_OPTION',
    /at most half/,
  )
  await refused(
    { knobs: { leaseDuration: 5 } as never },
    'COORDINATOR_BAD_OPTION',
    /knobs.leaseDuration/,
  )
  await refused(
    { knobs: { payloadBytesMax: 1 << 20 } },
    'COORDINATOR_BAD_OPTION',
    /limits.frameBytesMax is/,
  )
  await refused(
    { limits: { connections: 1 } as never },
    'COORDINATOR_BAD_OPTION',
    /limits.connections is not an option/,
  )
  await refused({ dataDirectory: 'x' } as never, 'COORDINATOR_BAD_OPTION', /options.dataDirectory/)
  await refused(
    { log: { appendBytesMax: 300_000 } },
    'COORDINATOR_BAD_OPTION',
    /log.appendBytesMax/,
  )
  await refused({ httpHost: '0.0.0.0', httpPort: 0 }, 'COORDINATOR_EXPOSED', /httpHost/)
  await refused({ port: 70_000 }, 'COORDINATOR_BAD_OPTION', /port is 70000/)
  await refused({ host: '0.0.0.0' }, 'COORDINATOR_EXPOSED', /insecure/)
  t.equal(new CoordinatorError('COORDINATOR_FAILED', 'x').name, 'CoordinatorError')
})

t.test('a bad option of any type is rejected with its path', async (t) => {
  const roles = ['admin']
  const bad: [options: object, path: RegExp][] = [
    [{ knobs: { retryPolicy: { maxRetries: 1 } } }, /knobs\.retryPolicy\.backoff is missing/],
    [{ observer: null }, /observer is null/],
    [{ tls: null }, /tls is null/],
    [{ tls: 'a key' }, /tls is a string/],
    [{ log: 7 }, /log is a number/],
    [{ knobs: [] }, /knobs is a list/],
    [{ limits: null }, /limits is null/],
    [{ limits: { unsentBytesMax: 1 } }, /limits\.unsentBytesMax is 1; .* from 65536/],
    [{ dataDir: 5 }, /dataDir is 5/],
    [{ host: null }, /host is null/],
    [{ insecure: 'no' }, /insecure is "no"/],
    [{ httpAllowedHosts: 'a.example' }, /httpAllowedHosts is a string; .* a list of host names/],
    [{ httpAllowedHosts: ['a:80'] }, /httpAllowedHosts\[0\] is "a:80"; .* without a port/],
    [{ tokens: 'secret' }, /tokens is a string/],
    [{ tokens: [null] }, /tokens\[0\] is null/],
    [{ tokens: [{ roles }] }, /tokens\[0\]\.token is missing/],
    [{ tokens: [{ token: '', roles }] }, /tokens\[0\]\.token is a string of 0 bytes/],
    [
      { tokens: [{ token: 'é'.repeat(513), roles }] },
      /tokens\[0\]\.token is a string of 1026 bytes/,
    ],
    [
      { tokens: [{ token: 'x', roles: ['boss'] }] },
      /tokens\[0\]\.roles is invalid; .* produce, work, admin/,
    ],
    [{ tokens: [{ token: 'x' }] }, /tokens\[0\]\.roles is invalid/],
  ]
  for (const [options, message] of bad) {
    await t.rejects(
      startCoordinator({ port: 0, httpPort: false, ...options }),
      { code: 'COORDINATOR_BAD_OPTION', message },
      String(message),
    )
  }
})

t.test('a missing token differs from an empty one', (t) => {
  const gate = new Gate([{ token: '', roles: ['admin'] }])
  t.match(gate.refusal({ version: 1, role: 'admin', name: 'x', capacity: 1 }), {
    reason: 'UNAUTHORIZED',
  })
  t.end()
})

t.test('a worker that leases many large tasks concurrently gets them all', async (t) => {
  const { port } = await start(t)
  const [producer, worker] = [await PeerClient.open(port), await PeerClient.open(port)]
  const payload = Buffer.alloc(256 * 1024)
  const count = 100
  await Promise.all(Array.from({ length: count }, () => producer.ask({ ...submit, payload })))
  const closed = worker.closed.then(() => {
    throw new Error('it was disconnected')
  })
  const all = Promise.all(Array.from({ length: count }, () => worker.ask(lease)))
  t.equal((await Promise.race([all, closed])).length, count)
  await Promise.all([producer.close(), worker.close().then(() => closed.catch(() => {}))])
})

t.test('lists of tasks and workers fit into a frame', async (t) => {
  const frameBytesMax = 70_000
  const { port } = await start(t, {
    knobs: { payloadBytesMax: 100, resultBytesMax: 100 },
    limits: { frameBytesMax },
  })
  const client = await PeerClient.open(port)
  const queue = 'q'.repeat(64)
  await Promise.all(Array.from({ length: 900 }, () => client.ask({ ...submit, queue })))
  const seen = new Set<unknown>()
  for (let next: number | undefined = 1; next !== undefined; ) {
    const page = await client.ask({ kind: 'list', fromTaskId: next, limit: 1000 })
    t.ok(encodeAnswer(page).length <= frameBytesMax)
    if (page.kind !== 'tasks') throw new Error(page.kind)
    for (const { taskId } of page.tasks) seen.add(taskId)
    next = page.nextTaskId
  }
  t.equal(seen.size, 900, 'and the pages contain everything')
  const names = Array.from({ length: 600 }, (_, index) => `${index}`.padStart(128, 'w'))
  const others = await Promise.all(
    names.map((name) => PeerClient.open(port, { name, role: 'work' })),
  )
  const workers = await client.ask({ kind: 'workers' })
  t.ok(encodeAnswer(workers).length <= frameBytesMax)
  if (workers.kind !== 'workers') throw new Error(workers.kind)
  t.ok(workers.workers.length > 100, 'as many as fit')
  t.equal(workers.workers.length + workers.leftOut, names.length, 'and the number of the others')
  for (const other of others) other.socket.destroy()
  await client.close()
})

t.test("a task's history is in the log, before and after a restart", async (t) => {
  const { server, dataDir, port } = await start(t)
  const client = await PeerClient.open(port)
  await client.ask(submit)
  await client.ask(submit)
  const { leaseId, leaseExpiry } = (await client.ask(lease)) as Leased
  // A heartbeat within the millisecond of the grant extends nothing and writes no record.
  let extended = leaseExpiry
  while (extended === leaseExpiry) {
    const answer = await client.ask({ kind: 'heartbeat', taskId: 1, leaseId })
    extended = (answer as Extended).leaseExpiry
  }
  await client.ask({ kind: 'complete', taskId: 1, leaseId })
  const types = async (from: PeerClient, taskId: number) => {
    const answer = await from.ask({ kind: 'history', taskId, fromLsn: 1 })
    if (answer.kind !== 'history') throw new Error(JSON.stringify(answer))
    t.equal(answer.firstLsn, 1)
    t.notOk(answer.next)
    return {
      types: answer.records.map(({ bytes }) => decodeRecord(bytes).type),
      epochs: answer.openings.map(({ epoch }) => epoch),
    }
  }
  const life = ['TaskCreated', 'LeaseGranted', 'LeaseExtended', 'TaskCompleted']
  t.strictSame(await types(client, 1), { types: life, epochs: [1] })
  await server.stop()
  await client.closed
  const again = await start(t, { dataDir, knobs: { retentionMs: 0 } })
  const other = await PeerClient.open(again.port)
  await other.ask(submit)
  t.match(await other.ask({ kind: 'get', taskId: 1 }), { reason: 'UNKNOWN_TASK' })
  t.strictSame(
    await types(other, 1),
    { types: [...life, 'TasksForgotten'], epochs: [1, 2] },
    'a forgotten task',
  )
  t.strictSame((await types(other, 2)).types, ['TaskCreated'])
  t.strictSame((await types(other, 3)).types, [], 'the id of a lease')
  await other.close()
})

t.test('closing a connection or the server does not wait for a history read', async (t) => {
  const { server, port } = await start(t)
  const client = await PeerClient.open(port)
  await client.ask(submit)
  const leaving = await PeerClient.open(port)
  const unanswered = leaving.ask({ kind: 'history', taskId: 1, fromLsn: 1 })
  unanswered.catch(() => {})
  leaving.socket.destroy()
  const asked = client.ask({ kind: 'history', taskId: 1, fromLsn: 1 })
  t.match(await client.ask(submit), { kind: 'submitted' })
  t.match(await asked, { kind: 'history', records: [{ lsn: 1 }] })
  client.ask({ kind: 'history', taskId: 1, fromLsn: 1 }).catch(() => {})
  await server.stop()
  t.equal(await server.ended, undefined)
})

t.test('stats show the number of openings and connections', async (t) => {
  const { port } = await start(t)
  const [client, other] = [await PeerClient.open(port), await PeerClient.open(port)]
  t.match(await client.ask({ kind: 'stats' }), { stats: { epoch: 1, connections: 2 } })
  t.match(await client.ask({ kind: 'stats' }), {
    stats: { diskFull: false, diskFreeBytes: Number },
  })
  await Promise.all([client.close(), other.close()])
})

t.test('stats omit free bytes that are unknown', async (t) => {
  const disk: Disk = { ...nodeDisk, freeBytes: () => Promise.reject(new Error('EIO')) }
  const { port } = await start(t, { log: { disk } })
  const client = await PeerClient.open(port)
  const answer = await client.ask({ kind: 'stats' })
  t.match(answer, { kind: 'stats', stats: { diskFull: false } })
  t.notOk(answer.kind === 'stats' && 'diskFreeBytes' in answer.stats)
  await client.close()
})

t.test('a taken port is an error with its name, and the log is released', async (t) => {
  const { port, dataDir } = await start(t)
  const other = await mkdtemp(join(tmpdir(), 'tenure-'))
  const taken = { dataDir: other, port, httpPort: false } as const
  await t.rejects(startCoordinator(taken), { code: 'COORDINATOR_CANNOT_LISTEN' })
  t.same(await readdir(other), [], 'the log was not opened, which would create a file each time')
  const { server } = await start(t, { dataDir: other })
  t.ok(server.port > 0)
  await t.rejects(startCoordinator({ dataDir, port: 0, httpPort: false }), { code: 'WAL_LOCKED' })
})

t.test('a payload of the maximum size works end to end', async (t) => {
  const payloadBytesMax = 4 << 20
  const { port } = await start(t, {
    knobs: { payloadBytesMax },
    limits: { frameBytesMax: 5 << 20 },
  })
  const client = await PeerClient.open(port)
  t.match(await client.ask({ ...submit, payload: Buffer.alloc(payloadBytesMax, 1) }), {
    kind: 'submitted',
  })
  t.match(await client.ask({ ...submit, payload: Buffer.alloc(payloadBytesMax + 1) }), {
    reason: 'TOO_LARGE',
  })
  const leased = await client.ask(lease)
  t.equal('payload' in leased && leased.payload.length, payloadBytesMax)
  await client.close()
})

t.test(
  'startup rejects limits that are too small for the log, with the needed value',
  async (t) => {
    const large = { knobs: { payloadBytesMax: 4 << 20 }, limits: { frameBytesMax: 5 << 20 } }
    const { server, dataDir, port } = await start(t, large)
    const client = await PeerClient.open(port)
    await client.ask({ ...submit, payload: Buffer.alloc(4 << 20, 1) })
    await client.close()
    await server.stop()
    await t.rejects(startCoordinator({ dataDir, port: 0, httpPort: false }), {
      code: 'COORDINATOR_BAD_OPTION',
      message: /^limits.frameBytesMax is 1048576; it must be at least 4259840, /,
    })
    await start(t, { dataDir, limits: { frameBytesMax: 4_259_840 } })
  },
)

t.test("the log's observer is called in addition to the metrics", async (t) => {
  let commits = 0
  const { port, server } = await start(t, {
    log: { observer: { committed: () => void commits++ } },
  })
  const client = await PeerClient.open(port)
  await client.ask(submit)
  t.ok(commits > 0)
  t.match(
    await (await fetch(`http://127.0.0.1:${server.httpPort}/metrics`)).text(),
    /tenure_commit_records_count [1-9]/,
  )
  await client.close()
})
