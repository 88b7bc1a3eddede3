import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { documentedDefaults, Events, Random, SimulatedClock, Uncaught } from '@tenure/testing'
import t from 'tap'
import { backoffMs } from '../src/connection/dialer.js'
import { nodeTransport } from '../src/connection/node-transport.js'
import {
  connect,
  type FailedAttempt,
  type LinkOptions,
  openLink,
  RejectedError,
  type SocketEvents,
  type TenureError,
  type Transport,
} from '../src/index.js'
import { resolveLinkOptions } from '../src/link/options.js'
import { fixture, limits, ScriptedServer } from './scripted-server.js'
import { createLinkWorld, createWorld, freeEndpoint, listening, quick, rejection } from './world.js'

const payload = Buffer.from('work')

// ---- the first connection

t.test('connect sends a hello with role, name and token, and receives the welcome', async (t) => {
  const options = { name: 'me', role: 'admin', token: 'secret', capacity: 4 } as const
  await using world = await createLinkWorld({ epoch: 17 }, options)
  t.strictSame(world.server.hellos, [{ version: 1, ...options }])
  t.equal(world.link.epoch, 17)
  t.strictSame(world.link.limits, limits)
  t.equal(world.link.isConnected, true)
})

t.test('a client without a name generates one', async (t) => {
  await using world = await createWorld()
  t.match(world.server.hellos, [{ role: 'produce', name: /^client-[0-9a-f-]{36}$/, capacity: 0 }])
})

t.test('endpoints are tried in turn until one answers', async (t) => {
  await using server = await ScriptedServer.start()
  const failed = new Events<FailedAttempt>()
  const down = await freeEndpoint()
  const endpoints = [down, down, server.endpoint]
  await using link = await openLink({
    endpoints,
    observer: { attemptFailed: failed.add },
    backoff: { initialMs: 60_000 },
  })
  t.equal(link.isConnected, true)
  t.strictSame(
    failed.seen.map(({ endpoint, retryInMs }) => ({ endpoint, retryInMs })),
    [
      { endpoint: down, retryInMs: 0 },
      { endpoint: down, retryInMs: 0 },
    ],
    'no delay within a round',
  )
})

t.test('when no endpoint answers in time the error says why', async (t) => {
  const clock = new SimulatedClock()
  const failed = new Events<FailedAttempt>()
  const connecting = rejection(
    connect({
      endpoints: [await freeEndpoint()],
      clock,
      connectTimeoutMs: 250,
      observer: { attemptFailed: failed.add },
      random: { next: () => 0, id: () => 'x' },
    }),
  )
  t.equal((await failed.at(1)).retryInMs, 50)
  await clock.advance(50)
  t.equal((await failed.at(2)).retryInMs, 100, 'delays between rounds grow')
  await clock.advance(100)
  await failed.at(3)
  await clock.advance(100)
  const error = await connecting
  t.match(error, { code: 'CLIENT_UNREACHABLE', outcomeUnknown: false })
  t.match(error.message, /cannot connect: .*ECONNREFUSED/)
  t.equal(clock.timers, 0, 'nothing is left behind')
})

t.test('after an endpoint that sends no welcome the next one is tried', async (t) => {
  const clock = new SimulatedClock()
  await using silent = await ScriptedServer.start({ greet: () => undefined })
  await using server = await ScriptedServer.start()
  const endpoints = [silent.endpoint, server.endpoint]
  const linking = openLink({ endpoints, clock, attemptTimeoutMs: 300, connectTimeoutMs: 1000 })
  await silent.peer(1)
  while (silent.hellos.length === 0) await clock.settle()
  await clock.advance(300)
  await using link = await linking
  t.equal(link.isConnected, true)
})

for (const reason of ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'FORBIDDEN'] as const) {
  t.test(`a handshake rejected with ${reason} is final`, async (t) => {
    await using server = await ScriptedServer.start({ greet: (peer) => peer.refuse(reason) })
    const error = await rejection(connect({ endpoints: [server.endpoint], backoff: quick }))
    t.ok(error instanceof RejectedError)
    t.match(error, { code: 'CLIENT_REJECTED', reason })
    t.equal(server.peers.length, 1)
  })
}

t.test('a temporary rejection of the handshake is retried', async (t) => {
  const reasons = ['TOO_MANY', 'STOPPING', 'INTERNAL'] as const
  let greetings = 0
  await using world = await createLinkWorld({
    greet: (peer) => {
      const reason = reasons[greetings++]
      if (reason === undefined) peer.welcome()
      else peer.refuse(reason)
    },
  })
  t.equal(world.server.peers.length, 4)
})

t.test('connecting ends with its signal', async (t) => {
  await using silent = await ScriptedServer.start({ greet: () => undefined })
  const controller = new AbortController()
  const options = { endpoints: [silent.endpoint] }
  const connecting = rejection(connect(options, { signal: controller.signal }))
  await silent.peer(1)
  controller.abort()
  t.equal((await connecting).code, 'CLIENT_ABORTED')
})

t.test('an invalid welcome is a protocol error', async (t) => {
  await using server = await ScriptedServer.start({
    greet: (peer) => peer.socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
  })
  const clock = new SimulatedClock()
  const failed = new Events<FailedAttempt>()
  const connecting = rejection(
    connect({
      endpoints: [server.endpoint],
      clock,
      connectTimeoutMs: 10,
      observer: { attemptFailed: failed.add },
    }),
  )
  t.equal((await failed.at(1)).error.code, 'CLIENT_PROTOCOL')
  await clock.advance(10)
  t.equal((await connecting).code, 'CLIENT_UNREACHABLE')
})

t.test('the README lists every default', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const documented = documentedDefaults(readme)
  const settled = resolveLinkOptions({ endpoints: ['localhost'] })
  const { hello, endpoints, tls, connectTimeoutMs, attemptTimeoutMs, ...others } = settled
  const { requestTimeoutMs, keepAliveMs, backoff } = others
  for (const [name, value] of Object.entries({
    capacity: hello.capacity,
    tls: tls !== undefined,
    connectTimeoutMs,
    attemptTimeoutMs,
    requestTimeoutMs,
    keepAliveMs,
    backoff,
  })) {
    t.strictSame(documented.get(name), value, name)
  }
  t.match(readme, `the port defaults to ${endpoints[0]?.port}`)
  t.equal(hello.role, 'produce')
  t.equal(hello.token, undefined)
  t.end()
})

t.test('an invalid option is rejected with its path', async (t) => {
  const endpoints = ['127.0.0.1:7411']
  const cases: [object, string][] = [
    [{}, 'options.endpoints'],
    [{ endpoints: [] }, 'options.endpoints'],
    [{ endpoints: 'localhost' }, 'options.endpoints'],
    [{ endpoints: ['ok:1', 'no port:x'] }, 'options.endpoints[1]'],
    [{ endpoints: ['::1'] }, 'options.endpoints[0]'],
    [{ endpoints: ['a:70000'] }, 'options.endpoints[0]'],
    [{ endpoints, role: 'root' }, 'options.role'],
    [{ endpoints, name: '' }, 'options.name'],
    [{ endpoints, name: 'half a pair \ud800' }, 'options.name'],
    [{ endpoints, token: 7 }, 'options.token'],
    [{ endpoints, token: '\udc00' }, 'options.token'],
    [{ endpoints, capacity: -1 }, 'options.capacity'],
    [{ endpoints, tls: { rejectUnauthorized: false } }, 'options.tls.rejectUnauthorized'],
    [{ endpoints, requestTimeoutMs: 0 }, 'options.requestTimeoutMs'],
    [{ endpoints, backoff: { initial: 1 } }, 'options.backoff.initial'],
    [{ endpoints, timeout: 1 }, 'options.timeout'],
  ]
  for (const [options, path] of cases) {
    const error = await rejection(openLink(options as LinkOptions))
    t.equal(error.code, 'CLIENT_BAD_ARGUMENT')
    t.ok(error.message.startsWith(`${path} `), error.message)
  }
})

t.test('an error never contains a token', async (t) => {
  const endpoints = ['localhost']
  const misplaced: unknown[] = [
    'secret',
    { endpoints, token: 'secret'.repeat(500) },
    { endpoints, token: ['secret'] },
    { endpoints, tls: 'secret' },
    { endpoints, role: ['secret'] },
    { endpoints: 'tcp://me:secret@localhost' },
    { endpoints: ['tcp://me:secret@localhost'] },
    { endpoints: ['secret@localhost'] },
    { endpoints: ['localhost:7411?token=secret'] },
    { endpoints: [['secret']] },
  ]
  for (const options of misplaced) {
    const error = await rejection(connect(options as LinkOptions))
    t.equal(error.code, 'CLIENT_BAD_ARGUMENT')
    t.notMatch(error.message, /secret/)
  }
})

// ---- a connection that breaks

t.test('idempotent requests are sent again over the next connection, in order', async (t) => {
  await using world = await createWorld()
  const calls = [
    world.tenure.submit(payload, { requestId: 'r1' }),
    world.tenure.kill(5, 'because'),
    world.tenure.get(5),
    world.tenure.workers(),
    world.tenure.stats(),
    world.tenure.ping(),
  ]
  await world.server.request('ping')
  world.server.latest.cut()
  const second = await world.server.peer(2)
  await world.server.request('ping')
  const again = world.server.unanswered.filter(({ peer }) => peer === second)
  t.strictSame(
    again.map(({ request }) => request.kind),
    ['submit', 'kill', 'get', 'workers', 'stats'],
  )
  t.match(again[0]?.request, { requestId: 'r1' }, 'under the same requestId')
  again[0]?.answer({ kind: 'submitted', taskId: 4, known: true })
  t.strictSame(await calls[0], { taskId: 4, known: true })
  const settled = Promise.allSettled(calls)
  await world.tenure.close()
  await settled
})

t.test('other requests are rejected with an unknown outcome', async (t) => {
  await using world = await createLinkWorld()
  const lease = rejection(world.link.request({ kind: 'lease', queues: ['a'], waitMs: 1000 }))
  await world.server.request('lease')
  world.server.latest.cut()
  t.match(await lease, { code: 'CLIENT_DISCONNECTED', outcomeUnknown: true })
  const pinged = world.link.request({ kind: 'ping' })
  ;(await world.server.request('ping')).answer({ kind: 'pong' })
  await pinged
  t.equal(world.server.unanswered.length, 0, 'it is not sent again')
})

t.test('a submission without a requestId is not sent twice', async (t) => {
  await using world = await createWorld()
  const submitted = rejection(world.tenure.submit(payload, { requestId: null }))
  await world.server.request('submit')
  world.server.latest.cut()
  t.match(await submitted, { code: 'CLIENT_DISCONNECTED', outcomeUnknown: true })
  await world.server.peer(2)
})

t.test('a rejection of a repeated request leaves the outcome of the first unknown', async (t) => {
  for (const [reason, outcomeUnknown] of [
    ['STOPPING', true],
    ['FORBIDDEN', true],
    ['CONFLICT', false],
  ] as const) {
    await using world = await createWorld()
    const submitted = rejection(world.tenure.submit(payload, { requestId: 'r1' }))
    await world.server.request('submit')
    world.server.latest.cut()
    const again = await world.server.request('submit')
    again.answer({ kind: 'rejected', reason, message: 'because' })
    t.match(await submitted, { reason, outcomeUnknown, requestId: 'r1' })
    const first = rejection(world.tenure.submit(payload))
    const asked = await world.server.request('submit')
    asked.answer({ kind: 'rejected', reason, message: 'because' })
    t.match(
      await first,
      { reason, outcomeUnknown: false },
      'without an earlier copy the outcome is known',
    )
  }
})

t.test(
  'a request too large for the next coordinator may have been accepted by the previous one',
  async (t) => {
    let frameBytesMax = limits.frameBytesMax
    await using world = await createWorld({
      greet: (peer) => peer.welcome({ limits: { ...limits, frameBytesMax } }),
    })
    const large = rejection(world.tenure.submit(Buffer.alloc(5000), { requestId: 'r1' }))
    await world.server.request('submit')
    frameBytesMax = 1000
    world.server.latest.cut()
    t.match(await large, { reason: 'TOO_LARGE', outcomeUnknown: true, requestId: 'r1' })
    t.match(await rejection(world.tenure.submit(Buffer.alloc(5000))), {
      reason: 'TOO_LARGE',
      outcomeUnknown: false,
    })
  },
)

t.test('an unknown outcome stays unknown over later rejections and delays', async (t) => {
  const clock = new SimulatedClock()
  const disconnected = new Events<TenureError>()
  const options = { clock, observer: { disconnected: disconnected.add } }
  await using world = await createWorld({}, options)
  const { signal, abort } = abortable()
  const patient = { requestId: 'r1', retryLater: true, timeoutMs: 5000 }
  const refused = rejection(world.tenure.submit(payload, patient))
  const aborted = rejection(world.tenure.submit(payload, { ...patient, signal }))
  const asked = () => Promise.all([world.server.request('submit'), world.server.request('submit')])
  await asked()
  world.server.latest.cut()
  await disconnected.at(1)
  await clock.advanceToNextTimer()
  const passing = { kind: 'rejected', reason: 'OVERLOADED', message: '' } as const
  for (const one of await asked()) one.answer({ ...passing, retryAfterMs: 10 })
  while ((clock.nextTimerMs ?? 1e9) > 10) await clock.settle()
  await clock.advance(10)
  const [third, fourth] = await asked()
  third.answer({ kind: 'rejected', reason: 'FORBIDDEN', message: '' })
  t.match(await refused, { reason: 'FORBIDDEN', outcomeUnknown: true, requestId: 'r1' })
  fourth.answer({ ...passing, retryAfterMs: 10 })
  while ((clock.nextTimerMs ?? 1e9) > 10) await clock.settle()
  abort()
  t.match(await aborted, { code: 'CLIENT_ABORTED', outcomeUnknown: true, requestId: 'r1' })
})

t.test('any unsent request waits for the next connection', async (t) => {
  const disconnected = new Events<TenureError>()
  await using world = await createLinkWorld({}, { observer: { disconnected: disconnected.add } })
  world.server.latest.cut()
  await disconnected.at(1)
  const lease = world.link.request({ kind: 'lease', queues: ['a'], waitMs: 0 })
  ;(await world.server.request('lease')).answer({ kind: 'empty' })
  t.equal((await lease).kind, 'empty')
})

t.test('a connection that breaks in its handshake is made again', async (t) => {
  let greetings = 0
  await using world = await createWorld({
    greet: (peer) => {
      greetings++
      if (greetings === 1) peer.cut()
      else if (greetings === 2) peer.socket.end(Buffer.of(0, 0))
      else peer.welcome()
    },
    answer: () => ({ kind: 'pong' }),
  })
  await world.tenure.ping()
  t.equal(greetings, 3)
})

t.test('a partial answer is not an answer', async (t) => {
  await using world = await createWorld()
  const pinged = world.tenure.ping()
  const asked = await world.server.request('ping')
  const { socket, protocol } = asked.peer
  socket.end(protocol.answer({ kind: 'pong', id: asked.request.id }).subarray(0, -1))
  ;(await world.server.request('ping')).answer({ kind: 'pong' })
  await pinged
  t.equal(world.server.peers.length, 2)
})

t.test('an unrequested answer, or garbage, ends the connection and no call', async (t) => {
  const disconnected = new Events<TenureError>()
  await using world = await createWorld({}, { observer: { disconnected: disconnected.add } })
  const pinged = world.tenure.ping()
  const first = await world.server.request('ping')
  first.peer.socket.write(first.peer.protocol.answer({ kind: 'pong', id: 4000 }))
  t.equal((await disconnected.at(1)).code, 'CLIENT_PROTOCOL')
  const second = await world.server.request('ping')
  second.peer.socket.write(Buffer.of(0, 0, 0, 1, 0xc1))
  t.equal((await disconnected.at(2)).code, 'CLIENT_PROTOCOL')
  const third = await world.server.request('ping')
  third.answer({ kind: 'pong' })
  await pinged
})

t.test('an answer that arrives twice is dropped the second time', async (t) => {
  const disconnected = new Events<TenureError>()
  await using world = await createWorld({}, { observer: { disconnected: disconnected.add } })
  const pinged = world.tenure.ping()
  const first = await world.server.request('ping')
  const stats = world.tenure.stats()
  const { peer, request } = await world.server.request('stats')
  const pong = first.peer.protocol.answer({ kind: 'pong', id: first.request.id })
  peer.socket.write(Buffer.concat([pong, pong]))
  await pinged
  const refused = { kind: 'rejected', reason: 'INTERNAL', message: 'because' } as const
  const answer = peer.protocol.answer({ ...refused, id: request.id })
  peer.socket.write(Buffer.concat([pong, answer]))
  t.match(await rejection(stats), { reason: 'INTERNAL' }, 'the next answer reaches its caller')
  t.equal(disconnected.seen.length, 0)
})

t.test('a farewell says why the coordinator ends the connection', async (t) => {
  const disconnected = new Events<TenureError>()
  await using world = await createWorld({}, { observer: { disconnected: disconnected.add } })
  const submitted = rejection(world.tenure.submit(payload, { requestId: null }))
  const asked = await world.server.request('submit')
  asked.peer.refuse('STOPPING')
  t.match(await disconnected.at(1), { code: 'CLIENT_REJECTED', reason: 'STOPPING' })
  t.match(await submitted, { code: 'CLIENT_DISCONNECTED', cause: { reason: 'STOPPING' } })
})

t.test('a call without a connection says whether it was sent', async (t) => {
  const clock = new SimulatedClock()
  const disconnected = new Events<TenureError>()
  const options = { clock, observer: { disconnected: disconnected.add } }
  const server = await ScriptedServer.start()
  await using tenure = await connect({ endpoints: [server.endpoint], ...options })
  const sent = rejection(tenure.submit(payload, { timeoutMs: 2000, requestId: 'r1' }))
  await server.request('submit')
  await server[Symbol.asyncDispose]()
  await disconnected.at(1)
  const unsent = rejection(tenure.submit(payload, { timeoutMs: 2000 }))
  await clock.advance(2000)
  t.match(await sent, { code: 'CLIENT_DISCONNECTED', outcomeUnknown: true, requestId: 'r1' })
  t.match(await unsent, { code: 'CLIENT_UNREACHABLE', outcomeUnknown: false })
})

t.test(
  'a request that maySend vetoes is cancelled, before and after a lost connection',
  async (t) => {
    await using world = await createLinkWorld()
    const numbers: number[] = []
    let isLate = false
    const options = {
      maySend: () => !isLate,
      onSent: (id: number) => numbers.push(id),
      retry: true,
    }
    const sent = rejection(world.link.request({ kind: 'ping' }, options))
    const asked = await world.server.request('ping')
    t.same(numbers, [asked.request.id])
    isLate = true
    asked.peer.cut()
    t.match(await sent, { code: 'CLIENT_WITHHELD', outcomeUnknown: true })
    const unsent = await rejection(world.link.request({ kind: 'ping' }, options))
    t.match(unsent, { code: 'CLIENT_WITHHELD', outcomeUnknown: false })
    t.equal(numbers.length, 1)
  },
)

t.test(
  'a client rejected on reconnect waits for the next call before it tries again',
  async (t) => {
    let isRefusing = false
    const failed = new Events<FailedAttempt>()
    await using world = await createWorld(
      {
        greet: (peer) => (isRefusing ? peer.refuse('UNAUTHORIZED') : peer.welcome()),
        answer: ({ request }) => (request.kind === 'ping' ? { kind: 'pong' } : undefined),
      },
      { observer: { attemptFailed: failed.add } },
    )
    const sent = rejection(world.tenure.get(1))
    await world.server.request('get')
    isRefusing = true
    world.server.latest.cut()
    t.match(await sent, { code: 'CLIENT_DISCONNECTED', cause: { reason: 'UNAUTHORIZED' } })
    t.equal((await failed.at(1)).retryInMs, undefined)
    t.match(await rejection(world.tenure.ping()), { reason: 'UNAUTHORIZED' })
    t.equal(world.server.peers.length, 3, 'one attempt for the call')
    isRefusing = false
    await world.tenure.ping()
  },
)

t.test('a new epoch shows that the coordinator was restarted', async (t) => {
  const epochs = new Events<number>()
  let epoch = 1
  await using world = await createLinkWorld(
    { greet: (peer) => peer.welcome({ epoch: epoch++ }) },
    { observer: { connected: (welcome) => epochs.add(welcome.epoch) } },
  )
  world.server.latest.cut()
  await epochs.at(2)
  t.strictSame(epochs.seen, [1, 2])
  t.equal(world.link.epoch, 2)
})

t.test('backoff grows to its maximum, and is reset only by an answer', async (t) => {
  const clock = new SimulatedClock()
  const disconnected = new Events<TenureError>()
  const connected = new Events<number>()
  await using world = await createWorld(
    { answer: () => ({ kind: 'pong' }) },
    {
      clock,
      backoff: { initialMs: 100, maxMs: 300 },
      keepAliveMs: 1e9,
      random: { next: () => 0.5, id: () => 'x' },
      observer: { connected: ({ epoch }) => connected.add(epoch), disconnected: disconnected.add },
    },
  )
  const pauses: number[] = []
  const breakUp = async () => {
    world.server.latest.cut()
    await disconnected.at(disconnected.seen.length + 1)
    pauses.push(clock.nextTimerMs ?? 0)
    await clock.advanceToNextTimer()
    await connected.at(disconnected.seen.length + 1)
  }
  for (let times = 0; times < 4; times++) await breakUp()
  t.strictSame(pauses, [75, 150, 225, 225])
  await world.tenure.ping()
  await breakUp()
  t.equal(pauses.at(-1), 75)
})

t.test('after a coordinator that crashes after its welcome the next one is tried', async (t) => {
  await using falling = await ScriptedServer.start({
    greet: (peer) => {
      peer.welcome()
      peer.socket.end()
    },
  })
  await using server = await ScriptedServer.start({ answer: () => ({ kind: 'pong' }) })
  const endpoints = [falling.endpoint, server.endpoint]
  await using tenure = await connect({ endpoints, backoff: quick })
  await tenure.ping()
  t.equal(falling.peers.length, 2, 'it gets a second chance')
  t.equal(server.peers.length, 1)
})

t.test('jitter keeps a delay between half of it and all of it', (t) => {
  const random = new Random(1)
  for (let round = 0; round < 2000; round++) {
    const full = Math.min(5000, 100 * 2 ** round)
    const pause = backoffMs({ initialMs: 100, maxMs: 5000 }, round, random.next())
    if (pause < full / 2 || pause > full) t.fail(`${pause} ms in round ${round}`)
  }
  t.end()
})

t.test('a silent peer is detected and disconnected', async (t) => {
  const clock = new SimulatedClock()
  const disconnected = new Events<TenureError>()
  const received = new Events<Uint8Array>()
  const transport = listening((bytes, events) => {
    events.received(bytes)
    received.add(bytes)
  })
  await using world = await createLinkWorld(
    { limits: { requestsInFlightMax: 2 } },
    { clock, transport, keepAliveMs: 1000, observer: { disconnected: disconnected.add } },
  )
  const lease = rejection(
    world.link.request({ kind: 'lease', queues: ['a'], waitMs: 60_000 }, { timeoutMs: 60_000 }),
  )
  await world.server.request('lease')
  await clock.advance(1000)
  const probe = await world.server.request('ping')
  probe.answer({ kind: 'pong' })
  await received.at(2)
  await clock.advance(1000)
  t.equal(disconnected.seen.length, 0, 'any data counts as alive; a lease may wait')
  await clock.advance(1000)
  await world.server.request('ping')
  t.equal(disconnected.seen.length, 0)
  await clock.advance(1000)
  t.match((await disconnected.at(1)).message, /no data from the peer/)
  t.equal((await lease).code, 'CLIENT_DISCONNECTED')
})

t.test('a silent peer is detected even without space for a probe', async (t) => {
  for (const requestsInFlightMax of [1, 2]) {
    const clock = new SimulatedClock()
    const disconnected = new Events<TenureError>()
    const received = new Events<Uint8Array>()
    const transport = listening((bytes, events) => {
      events.received(bytes)
      received.add(bytes)
    })
    await using world = await createLinkWorld(
      { limits: { requestsInFlightMax } },
      { clock, transport, keepAliveMs: 1000, observer: { disconnected: disconnected.add } },
    )
    const lease = world.link.request({ kind: 'lease', queues: ['a'], waitMs: 60_000 })
    const asked = await world.server.request('lease')
    const asking = rejection(world.link.request({ kind: 'stats' }))
    await world.server.request('stats')
    // With space for a probe, the probe stays unanswered, while other answers arrive for a while.
    await clock.advance(1000)
    asked.answer({ kind: 'empty' })
    await lease
    await received.at(2)
    await clock.advance(1000)
    t.equal(disconnected.seen.length, 0, 'any data counts as alive')
    await clock.advance(1000)
    t.equal(disconnected.seen.length, 0)
    await clock.advance(1000)
    t.match((await disconnected.at(1)).message, /no data from the peer/)
    t.equal((await asking).code, 'CLIENT_DISCONNECTED')
  }
})

t.test('an observer that throws is an uncaught exception, and the link continues', async (t) => {
  using uncaught = new Uncaught()
  const fail = (hook: string) => () => {
    throw new Error(hook)
  }
  const observer = { connected: fail('connected'), disconnected: fail('disconnected') }
  await using world = await createWorld({ answer: () => ({ kind: 'pong' }) }, { observer })
  await world.tenure.ping()
  world.server.latest.cut()
  await uncaught.at(2)
  await world.tenure.ping()
  t.match(uncaught.seen, [
    { message: 'connected' },
    { message: 'disconnected' },
    { message: 'connected' },
  ])
})

// ---- the transport

t.test('bytes may arrive one by one', async (t) => {
  const transport = listening((bytes, events) => {
    for (const byte of bytes) events.received(Uint8Array.of(byte))
  })
  await using world = await createWorld(
    { answer: () => ({ kind: 'submitted', taskId: 77, known: false }) },
    { transport },
  )
  t.equal((await world.tenure.submit(payload)).taskId, 77)
})

t.test('no writes follow a request to pause until the transport has drained', async (t) => {
  let events: SocketEvents | undefined
  let isHeld = false
  let writes = 0
  const transport: Transport = {
    connect: (target, own) => {
      events = own
      const socket = nodeTransport.connect(target, own)
      const write = (bytes: Uint8Array) => {
        writes++
        return socket.write(bytes) && !isHeld
      }
      return { write, close: () => socket.close() }
    },
  }
  await using world = await createWorld({ answer: () => ({ kind: 'pong' }) }, { transport })
  isHeld = true
  await world.tenure.ping()
  t.equal(writes, 2, 'the hello, and the writes until the pause')
  const held = world.tenure.ping()
  t.equal(writes, 2)
  isHeld = false
  events?.drained()
  await held
  t.equal(writes, 3)
})

t.test('large payloads pass a socket that reads slowly', async (t) => {
  let bytes = 0
  await using world = await createWorld({
    answer: ({ request }) => {
      if (request.kind === 'submit') bytes += request.payload.length
      return { kind: 'submitted', taskId: 1, known: false }
    },
  })
  const large = Buffer.alloc(80_000)
  await Promise.all(Array.from({ length: 60 }, () => world.tenure.submit(large)))
  t.equal(bytes, 60 * 80_000)
})

t.test('a connection error says what is wrong with the address', async (t) => {
  const strangers: [name: string, onSocket: (socket: Socket) => void, tls: boolean, RegExp][] = [
    ['the end', (socket) => socket.end(), false, /:\d+ closed the connection .* require TLS/],
    ['HTTP', (socket) => socket.end('HTTP/1.1 400'), false, /:\d+ sent .* it looks like HTTP/],
    ['an alert', (socket) => socket.end(Buffer.of(21, 3, 3, 0, 2, 2, 70)), false, /looks like TLS/],
    ['the end', (socket) => socket.destroy(), true, /^cannot connect: .*; does .*:\d+ use TLS\?$/],
    ['HTTP', (socket) => socket.end('HTTP/1.1 400'), true, /; does .*:\d+ use TLS\?$/],
  ]
  for (const [name, onSocket, tls, message] of strangers) {
    const server = createServer((socket) => {
      socket.on('error', () => {}).resume()
      onSocket(socket)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const failed = new Events<FailedAttempt>()
    const options = { endpoints: [`127.0.0.1:${port}`], tls }
    const observer = { attemptFailed: failed.add }
    const connecting = connect({ ...options, observer, connectTimeoutMs: 60_000 }, aborting(failed))
    t.equal((await rejection(connecting)).code, 'CLIENT_ABORTED')
    t.match(failed.seen[0]?.error.message, message, `${name}${tls ? ', over TLS' : ''}`)
    server.close()
  }
})

t.test('the error says that a peer accepted the connection and sent nothing', async (t) => {
  const greeted = new Events<Buffer>()
  const server = createServer((socket) => socket.on('data', greeted.add)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const clock = new SimulatedClock()
  const connecting = connect({ endpoints: [`127.0.0.1:${port}`], clock, connectTimeoutMs: 3500 })
  const failure = rejection(connecting)
  await greeted.at(1)
  await clock.advance(3500)
  t.match(await failure, {
    code: 'CLIENT_UNREACHABLE',
    message:
      /^no connection within 3500 ms: no welcome from .*:\d+ within 3000 ms \(it accepted the/,
  })
  server.close()
})

t.test('over TLS the certificate is checked, by CA and by name', async (t) => {
  const ca = fixture('certificate.pem')
  await using world = await createWorld(
    { tls: true, answer: () => ({ kind: 'pong' }) },
    { tls: { ca } },
  )
  await world.tenure.ping()
  const endpoints = [world.server.endpoint]
  const named = { endpoints, tls: { ca: [ca], servername: 'localhost' } }
  await using again = await connect(named)
  await again.ping()
  const wrong = [true, { ca, servername: 'elsewhere.example' }] as const
  for (const tls of wrong) {
    const failed = new Events<FailedAttempt>()
    const observer = { attemptFailed: failed.add }
    const connecting = connect(
      { endpoints, tls, observer, connectTimeoutMs: 60_000 },
      aborting(failed),
    )
    t.equal((await rejection(connecting)).code, 'CLIENT_ABORTED')
    t.match(failed.seen[0]?.error.message, /self-signed|Hostname/)
  }
  t.equal(world.server.hellos.length, 2, 'no token was sent to an untrusted peer')
})

t.test('unusable TLS options are rejected by name, and no call keeps waiting', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'p' },
  })
  const cert = fixture('certificate.pem')
  const unhandled = new Events<unknown>()
  process.on('unhandledRejection', unhandled.add)
  for (const tls of [
    { cert, key: 'no key' },
    { cert: 'no certificate', key: fixture('key.pem') },
    { cert, key: privateKey, passphrase: 'wrong' },
    { key: 7 as unknown as string },
  ]) {
    const failed = new Events<FailedAttempt>()
    const options = { endpoints: ['localhost'], tls, observer: { attemptFailed: failed.add } }
    const error = await rejection(connect(options))
    t.match(error, { code: 'CLIENT_BAD_ARGUMENT', message: /^options\.tls / })
    t.ok(error.cause instanceof Error)
    t.match(failed.seen, [{ endpoint: 'localhost:7411', error }])
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', unhandled.add)
  t.same(unhandled.seen, [])
})

t.test('a transport that throws counts as an unreachable endpoint', async (t) => {
  let isDown = true
  const transport: Transport = {
    connect: (target, events) => {
      if (isDown) throw new Error('no network')
      return nodeTransport.connect(target, events)
    },
  }
  const observer = {
    attemptFailed: ({ error }: FailedAttempt) => {
      t.match(error, { code: 'CLIENT_DISCONNECTED', message: /no network/ })
      isDown = false
    },
  }
  await using world = await createWorld(
    { answer: () => ({ kind: 'pong' }) },
    { transport, observer },
  )
  await world.tenure.ping()
  t.notOk(isDown)
})

t.test('close ends pauses and waits for a connection', async (t) => {
  const disconnected = new Events<TenureError>()
  const observer = { disconnected: disconnected.add }
  await using world = await createLinkWorld({}, { observer, backoff: { initialMs: 60_000 } })
  world.server.latest.cut()
  await disconnected.at(1)
  const waiting = [world.link.pause(60_000), world.link.ready()].map(rejection)
  await world.link.close()
  for (const error of await Promise.all(waiting)) t.equal(error.code, 'CLIENT_CLOSED')
})

t.test('close resolves when the socket is closed, and leaves no timer', async (t) => {
  const clock = new SimulatedClock()
  await using world = await createWorld({}, { clock })
  const { socket } = world.server.latest
  const gone = new Promise((resolve) => socket.once('close', resolve))
  await world.tenure.close()
  await gone
  t.equal(clock.timers, 0)
})

/** A signal that aborts after the first failed attempt. */
function aborting(failed: Events<FailedAttempt>): { signal: AbortSignal } {
  const controller = new AbortController()
  void failed.at(1).then(() => controller.abort())
  return { signal: controller.signal }
}

function abortable() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
