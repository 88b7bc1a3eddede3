import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Fate, MemoryEngine, type Passage } from '@tenure/shared-log'
import { SimulatedClock } from '@tenure/testing'
import t, { type Test } from 'tap'
import { type CoordinatorOptions, type CoordinatorServer, startCoordinator } from '../src/index.js'
import { PeerClient } from './peer-client.js'

const identity = { logId: '00112233445566778899aabbccddeeff', era: 1 }
const submit = { kind: 'submit', payload: Buffer.from('work') } as const
const lease = { kind: 'lease', queues: ['default'], waitMs: 0 } as const

interface Started {
  readonly server: CoordinatorServer
  /** Resolves when it serves requests. */
  readonly active: Promise<void>
  readonly dataDir: string
}

/** A coordinator of a set, on the engine. Its time is the engine's, and passes only when the test says so. */
async function start(
  t: Test,
  engine: MemoryEngine,
  name: string,
  options: CoordinatorOptions = {},
): Promise<Started> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'tenure-')))
  let isActive: () => void = () => {}
  const active = new Promise<void>((resolve) => {
    isActive = resolve
  })
  const server = await startCoordinator({
    dataDir,
    port: 0,
    httpPort: false,
    clock: engine.clock,
    sharedLog: { ...identity, log: engine.connect(name), address: `${name}:7411`, ttlMs: 2000 },
    ...options,
    observer: { ...options.observer, started: () => isActive() },
  })
  t.teardown(async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  return { server, active, dataDir }
}

/** Resolves when the standby has followed the active coordinator's epoch entry. */
function following(): { readonly observer: { followed(): void }; readonly done: Promise<void> } {
  let resolve: () => void = () => {}
  const done = new Promise<void>((follow) => {
    resolve = follow
  })
  return { observer: { followed: () => resolve() }, done }
}

t.test('a task lives on over a planned hand-over, with its lease', async (t) => {
  const engine = new MemoryEngine({ clock: new SimulatedClock() })
  const a = await start(t, engine, 'a')
  await a.active
  const follow = following()
  const b = await start(t, engine, 'b', { observer: follow.observer })
  await follow.done
  t.same([a.server.role, b.server.role], ['active', 'standby'])
  const refused = await new PeerClient(b.server.port).greet()
  t.match(refused, { reason: 'NOT_ACTIVE', active: 'a:7411' })

  const worker = await PeerClient.open(a.server.port, { role: 'admin', name: 'w' })
  t.match(await worker.ask(submit), { kind: 'submitted', taskId: 1 })
  t.match(await worker.ask({ kind: 'get', taskId: 1 }), { task: { state: 'WAITING' } })
  const leased = await worker.ask(lease)
  t.match(leased, { kind: 'leased', taskId: 1 })
  const { taskId, leaseId } = leased as { taskId: number; leaseId: number }
  await a.server.stop()
  await b.active
  t.equal(b.server.role, 'active')
  const again = await PeerClient.open(b.server.port, { role: 'admin', name: 'w' })
  t.match(await again.ask({ kind: 'heartbeat', taskId, leaseId }), { kind: 'extended' })
  t.match(await again.ask({ kind: 'complete', taskId, leaseId }), { kind: 'committed' })
  const { server: c, active } = await start(t, engine, 'a', { dataDir: a.dataDir })
  t.equal(c.role, 'standby', 'the first one comes back')
  await b.server.stop()
  await active
  const last = await PeerClient.open(c.port)
  t.match(await last.ask({ kind: 'get', taskId }), {
    task: { state: 'COMPLETED', attempts: [{ attempt: 1, outcome: 'COMPLETED' }] },
  })
  await last.close()
})

t.test('a coordinator that loses the engine is succeeded, and answers nothing', async (t) => {
  const lost = new Set<string>()
  const clock = new SimulatedClock()
  const engine = new MemoryEngine({
    clock,
    fateOf: ({ user }) => (lost.has(user) ? 'lose' : 'pass'),
  })
  const a = await start(t, engine, 'a')
  await a.active
  const b = await start(t, engine, 'b')
  const client = await PeerClient.open(a.server.port, { name: 'c' })
  t.match(await client.ask(submit), { taskId: 1 })
  lost.add('a')
  let answers = 0
  for (const request of [
    submit,
    { kind: 'get', taskId: 1 },
    { kind: 'get', taskId: 99 },
  ] as const) {
    void client.ask(request).then(() => answers++)
  }
  await clock.advance(3000)
  await b.active
  await client.closed
  t.match(client.farewell, { reason: 'NOT_ACTIVE' })
  t.equal(answers, 0)
  const other = await PeerClient.open(b.server.port, { name: 'c' })
  t.match(await other.ask({ kind: 'get', taskId: 1 }), { task: { state: 'WAITING' } })
  lost.clear()
  await clock.advance(1000)
  t.match(await a.server.ended, { code: 'LEADERSHIP_LOST' })
  t.match(await other.ask(submit), { taskId: 2 })
  await other.close()
})

t.test(
  'an answer without a record waits for a confirmation, a refusal without state does not',
  async (t) => {
    let held: (() => void)[] | undefined
    const fateOf = ({ call, way }: Passage): Fate | Promise<Fate> => {
      if (held === undefined || call !== 'append' || way !== 'answer') return 'pass'
      return new Promise((resolve) => held?.push(() => resolve('pass')))
    }
    const clock = new SimulatedClock()
    const engine = new MemoryEngine({ clock, fateOf })
    const a = await start(t, engine, 'a', { knobs: { payloadBytesMax: 1000 } })
    await a.active
    const client = await PeerClient.open(a.server.port)
    t.match(await client.ask(submit), { taskId: 1 })
    held = []
    const order: string[] = []
    const note = (what: string) => (answer: { kind: string }) =>
      void order.push(`${what} ${answer.kind}`)
    const asked = [
      client.ask({ kind: 'get', taskId: 1 }).then(note('get')),
      client.ask({ kind: 'get', taskId: 7 }).then(note('unknown')),
      client.ask(lease).then(note('lease')),
      client.ask({ ...lease, queues: ['empty'] }).then(note('empty')),
      client.ask({ kind: 'stats' }).then(note('stats')),
    ]
    const other = await PeerClient.open(a.server.port)
    t.match(await other.ask({ kind: 'ping' }), { kind: 'pong' })
    const tooLarge = { kind: 'submit', payload: Buffer.alloc(1001) } as const
    t.match(await other.ask(tooLarge), { reason: 'TOO_LARGE' })
    // Queries wait until the coordinator has nothing else to do.
    await clock.advance(50)
    t.same(order, [])
    const waiting = held
    held = undefined
    for (const release of waiting) release()
    await clock.advance(50)
    await Promise.all(asked)
    t.same([...order].sort(), [
      'empty empty',
      'get task',
      'lease leased',
      'stats stats',
      'unknown rejected',
    ])
    await client.close()
  },
)

t.test('wrong options are refused by name', async (t) => {
  const log = new MemoryEngine({ clock: new SimulatedClock() }).connect('a')
  const good = { ...identity, log, address: 'a:7411' }
  for (const [wrong, message] of [
    [{ ...good, address: 'nowhere' }, /sharedLog\.address/],
    [{ ...good, ttlMs: 5 }, /sharedLog\.ttlMs/],
    [{ ...good, era: 0 }, /era/],
    [{ ...good, logId: 'x' }, /logId/],
    [{ ...good, surprise: 1 }, /surprise/],
  ] as const) {
    const dataDir = t.testdir()
    await t.rejects(
      startCoordinator({ dataDir, port: 0, httpPort: false, sharedLog: wrong as never }),
      { message },
    )
  }
})
