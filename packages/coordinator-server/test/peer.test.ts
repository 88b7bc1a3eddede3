import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClientConnection, encodeRequest, type Request } from '@tenure/protocol'
import { Random } from '@tenure/testing'
import t, { type Test } from 'tap'
import { type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { PeerClient } from './peer-client.js'
import { StuckSocket, serve } from './peer-world.js'
import { worker } from './world.js'

const many = (count: number, request: Request) =>
  Buffer.concat(Array.from({ length: count }, () => encodeRequest(request)))
const ping = { kind: 'ping', id: 1 } as const
const poll = { kind: 'lease', id: 1, queues: ['default'], waitMs: 60_000 } as const
const submit = { kind: 'submit', id: 1, payload: Buffer.from('work') } as const
const list = { kind: 'list', id: 1, fromTaskId: 1, limit: 1000 } as const
const get = { kind: 'get', id: 1, taskId: 1 } as const
const largePayload = Buffer.alloc(256 * 1024)

t.test('an oversized frame ends a connection that is at its limits, once', async (t) => {
  const { world, greet, refused } = await serve({ requestsInFlightMax: 1 })
  const socket = await greet()
  const tooLarge = Buffer.from([0xff, 0xff, 0xff, 0xff])
  socket.receive(Buffer.concat([encodeRequest(submit), tooLarge]))
  t.equal(refused.length, 0)
  await world.clock.settle()
  t.strictSame([refused.length, socket.hasEnded], [1, true])
  t.strictSame(socket.kinds(), ['submitted', 'rejected'])
})

t.test('unanswered requests are also limited by their bytes', async (t) => {
  const { world, greet } = await serve()
  const socket = await greet()
  const { log } = world
  const before = log.nextLsn
  for (let id = 1; id <= 100; id++) {
    socket.receive(encodeRequest({ ...submit, id, payload: largePayload }))
  }
  const taken = log.nextLsn - before
  t.equal(taken, 64, '16 MiB in one batch')
  await world.clock.settle()
  socket.drain()
  await world.clock.settle()
  t.equal(socket.kinds().filter((kind) => kind === 'submitted').length, 100, 'and then the others')
})

t.test('waiting lease requests do not block heartbeats, reports and withdrawals', async (t) => {
  const { world, greet } = await serve({ requestsInFlightMax: 1, pollsPerConnectionMax: 3 })
  await world.submit()
  const { taskId, leaseId } = await world.lease(worker)
  const socket = await greet({ role: 'work', name: worker.name })
  socket.receive(Buffer.concat([2, 3, 4].map((id) => encodeRequest({ ...poll, id }))))
  await world.clock.settle()
  t.strictSame(socket.kinds(), [])
  socket.receive(
    Buffer.concat([
      encodeRequest({ kind: 'heartbeat', id: 5, taskId, leaseId }),
      encodeRequest({ kind: 'complete', id: 6, taskId, leaseId }),
      encodeRequest({ kind: 'withdraw', id: 7, of: 3 }),
    ]),
  )
  await world.clock.settle()
  t.strictSame(socket.kinds(), ['extended', 'committed', 'empty', 'withdrawn'])
})

t.test('a waiting lease request over the limit is rejected immediately', async (t) => {
  const { world, greet } = await serve({ pollsPerConnectionMax: 2 })
  const [socket, other] = [await greet(), await greet({ name: 'other' })]
  socket.receive(many(3, poll))
  other.receive(many(2, poll))
  await world.clock.settle()
  t.strictSame([socket.kinds(), other.kinds()], [['rejected'], []])
  await world.submit()
  t.strictSame(socket.kinds(), ['leased'])
  socket.receive(many(1, poll))
  await world.clock.settle()
  t.strictSame(socket.kinds(), [], 'below the limit again')
})

t.test('lease requests with the same id all end with their connection', async (t) => {
  const { world, greet } = await serve()
  const socket = await greet({ role: 'work', name: worker.name })
  socket.receive(Buffer.concat([many(3, poll), encodeRequest({ ...poll, id: 2 })]))
  await world.clock.settle()
  t.equal(world.coordinator.waitingPolls, 4)
  socket.receive(encodeRequest({ kind: 'withdraw', id: 3, of: 1 }))
  await world.clock.settle()
  t.strictSame(socket.kinds(), ['empty', 'withdrawn'])
  socket.destroy()
  t.equal(world.coordinator.waitingPolls, 0)
  const taskId = await world.submit()
  t.match(await world.ask({ kind: 'get', taskId }), { task: { state: 'WAITING' } })
})

t.test('immediate answers are spread over turns', async (t) => {
  const { world, greet } = await serve()
  const socket = await greet()
  socket.receive(many(1000, ping))
  await Promise.resolve()
  t.equal(socket.kinds().length, 64)
  await world.clock.settle()
  t.equal(socket.kinds().length, 1000 - 64, 'and all are answered')
})

t.test('a connection has few queries in progress, and all of them are answered', async (t) => {
  const { world, greet } = await serve()
  const socket = await greet()
  socket.drain()
  let asked = 0
  const handle = world.coordinator.handle.bind(world.coordinator)
  world.coordinator.handle = (...args) => {
    asked++
    return handle(...args)
  }
  socket.receive(many(100, list))
  t.equal(asked, 4)
  socket.receive(many(1, ping))
  await world.clock.settle()
  t.strictSame(socket.kinds(), [...Array.from({ length: 100 }, () => 'tasks'), 'pong'])
  t.ok(socket.unsentBytes > 0)
  asked = 0
  socket.receive(many(100, list))
  t.equal(asked, 1, 'only one while answers are unsent')
})

t.test('a turn ends after its time limit', async (t) => {
  const { world, greet } = await serve({}, 1)
  const socket = await greet()
  socket.receive(many(100, ping))
  await Promise.resolve()
  const { length } = socket.kinds()
  t.ok(length > 0 && length <= 5)
  await world.clock.settle()
  t.equal(socket.kinds().length, 100 - length)
})

t.test(
  'requests of a peer that does not read stay unread, and are served when it reads',
  async (t) => {
    const { world, greet } = await serve()
    await world.ask({ kind: 'submit', payload: largePayload })
    const socket = await greet()
    socket.receive(many(4000, get))
    await world.clock.settle()
    t.ok(socket.unsentBytes < 2 * 2 ** 20, 'one answer over 1 MiB')
    let answers = 0
    for (let drained = 0; socket.unsentBytes > 0 && drained < 200; drained++) {
      answers += socket.kinds().length
      socket.drain()
      await world.clock.settle()
    }
    t.ok(answers > 500, 'it continues whenever the send buffer allows')
  },
)

t.test(
  'a peer is disconnected only if it reads nothing for slowReaderMs, however much is unsent',
  async (t) => {
    const { world, peers, greet, refused } = await serve({
      slowReaderMs: 10_000,
      unsentBytesMax: 1 << 20,
    })
    for (let count = 0; count < 20; count++) {
      await world.ask({ kind: 'submit', payload: largePayload })
    }
    const worker = await greet()
    worker.drain()
    worker.receive(many(20, { ...poll, waitMs: 0 }))
    await world.clock.settle()
    t.ok(worker.unsentBytes > 5 * 2 ** 20, 'far over the send buffer limit')
    for (let count = 0; count < 10; count++) {
      peers.checkTime()
      await world.clock.advance(9000)
      worker.unsentBytes -= 1
    }
    t.strictSame([worker.isDestroyed, refused], [false, []], 'one byte now and then is enough')
    peers.checkTime()
    await world.clock.advance(10_000)
    peers.checkTime()
    t.strictSame([worker.isDestroyed, refused], [true, ['the peer does not read its answers']])
  },
)

t.test('a connection at its limits still detects its end, up to a number of bytes', async (t) => {
  const { world, greet } = await serve({ requestsInFlightMax: 2 })
  const socket = await greet()
  socket.receive(many(3, submit))
  t.notOk(socket.isPaused, 'a paused socket does not detect its end')
  const piece = many(1000, ping)
  while (!socket.isPaused && socket.writtenBytes < 2 ** 20) socket.receive(piece)
  t.ok(socket.isPaused, 'but the received bytes are limited')
  socket.drain()
  await world.clock.settle()
  t.notOk(socket.isPaused)
  t.equal(socket.kinds().filter((kind) => kind === 'submitted').length, 3)
})

t.test(
  'a peer that waits for the coordinator does not time out in the middle of a frame',
  async (t) => {
    const { world, peers, greet, refused } = await serve({ requestsInFlightMax: 1, frameMs: 1000 })
    const socket = await greet()
    world.coordinator.handle = () => 'pending'
    socket.receive(Buffer.concat([encodeRequest(submit), encodeRequest(ping).subarray(0, 6)]))
    await world.clock.advance(5000)
    peers.checkTime()
    t.strictSame([socket.hasEnded, refused], [false, []])
  },
)

t.test('a peer that was paused in the middle of a frame gets its whole time again', async (t) => {
  const { world, peers, greet, refused } = await serve({ frameMs: 1000 })
  for (let count = 0; count < 8; count++) await world.submit({ payload: largePayload })
  const socket = await greet()
  const half = encodeRequest(ping).subarray(0, 6)
  socket.receive(Buffer.concat([many(8, { ...poll, waitMs: 0 }), half]))
  await world.clock.settle()
  t.ok(socket.unsentBytes > 2 ** 20, 'its answers are ready and unread')
  await world.clock.advance(5000)
  socket.drain()
  peers.checkTime()
  t.strictSame([socket.hasEnded, refused], [false, []])
  await world.clock.advance(999)
  peers.checkTime()
  t.notOk(socket.hasEnded)
  await world.clock.advance(1)
  peers.checkTime()
  t.ok(socket.hasEnded)
})

t.test(
  'a worker is leased no more than the capacity in its hello, and so is an admin with one',
  async (t) => {
    for (const role of ['work', 'admin'] as const) {
      const { world, greet } = await serve()
      const socket = await greet({ role, name: 'w1', capacity: 1 })
      for (let count = 0; count < 2; count++) await world.submit()
      socket.receive(many(2, { ...poll, waitMs: 0 }))
      await world.clock.settle()
      t.strictSame(socket.kinds(), ['empty', 'leased'], role)
      socket.destroy()
      t.match(await world.ask({ kind: 'workers' }), { workers: [{ connections: 0, leases: 1 }] })
      const again = await greet({ role, name: 'w1', capacity: 1 })
      again.receive(encodeRequest({ ...poll, waitMs: 0 }))
      await world.clock.settle()
      t.strictSame(again.kinds(), ['leased'], 'it may be another process')
    }
  },
)

t.test('an admin without a capacity counts as a worker only when it holds a lease', async (t) => {
  const { world, greet } = await serve()
  const socket = await greet({ role: 'admin', name: 'w1' })
  t.strictSame((await world.expect('workers', { kind: 'workers' })).workers, [])
  for (let count = 0; count < 2; count++) await world.submit()
  socket.receive(many(2, { ...poll, waitMs: 0 }))
  await world.clock.settle()
  t.strictSame(socket.kinds(), ['leased', 'leased'])
  t.match(await world.ask({ kind: 'workers' }), { workers: [{ name: 'w1', leases: 2 }] })
})

t.test('lastHeardAt is in decision time', async (t) => {
  const { world, greet } = await serve()
  await greet({ role: 'work', name: 'w1' })
  t.match(await world.ask({ kind: 'workers' }), {
    workers: [{ name: 'w1', lastHeardAt: world.clock.now() }],
  })
})

t.test('only a limited number of rejected peers is kept open', async (t) => {
  const { peers } = await serve({ connectionsMax: 1 })
  const sockets = Array.from({ length: 103 }, () => new StuckSocket())
  for (const socket of sockets) peers.accept(socket)
  t.equal(sockets.filter((socket) => socket.hasEnded).length, 100)
  t.equal(sockets.filter((socket) => socket.isDestroyed).length, 2)
})

// ---- hostile peers

async function start(t: Test, options: CoordinatorOptions = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenure-'))
  const refused: string[] = []
  const observer = { refused: ({ message }: { message: string }) => void refused.push(message) }
  const server = await startCoordinator({ dataDir, port: 0, httpPort: false, observer, ...options })
  t.teardown(async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  return { server, port: server.port, refused }
}

/** Sends bytes, and resolves when the server has ended the connection. */
function sendAndWait(port: number, ...pieces: Uint8Array[]): Promise<Buffer> {
  return new Promise((resolve) => {
    const received: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => {
      for (const piece of pieces) socket.write(piece)
    })
    socket.on('error', () => {})
    socket.on('data', (bytes) => received.push(bytes))
    socket.on('close', () => resolve(Buffer.concat(received)))
  })
}

const helloFrame = ClientConnection.hello({ role: 'admin', name: 'x', capacity: 1 })
const frame = (...body: number[]) => Buffer.from([0, 0, 0, body.length, ...body])

t.test('bombs and garbage end their own connection and nothing else', async (t) => {
  const { port } = await start(t)
  const healthy = await PeerClient.open(port)
  const bombs: [name: string, bytes: Uint8Array][] = [
    ['a list of 2^32 - 1 values', frame(0xdd, 0xff, 0xff, 0xff, 0xff)],
    ['a map of 2^32 - 1 entries', frame(0xdf, 0xff, 0xff, 0xff, 0xff)],
    ['bytes that are not there', frame(0xc6, 0xff, 0xff, 0xff, 0xff)],
    [
      'a list a thousand levels deep',
      Buffer.concat([Buffer.from([0, 0, 3, 0xe9]), Buffer.alloc(1001, 0x91)]),
    ],
    ['an extension', frame(0xd4, 0x01, 0x00)],
    ['a record definition of msgpackr', frame(0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61)],
    ['a text that is not UTF-8', frame(0x91, 0xa1, 0xff)],
    ['nothing at all', frame()],
    ['a frame of four gigabytes', Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n')],
  ]
  for (const [name, bytes] of bombs) {
    if (bytes !== helloFrame)
      t.equal((await sendAndWait(port, bytes)).length, 0, `${name}, before the handshake`)
    const answered = await sendAndWait(port, helloFrame, bytes)
    t.ok(answered.length > 20, `${name}, after the handshake: one rejection`)
  }
  t.match(await healthy.ask({ kind: 'ping' }), { kind: 'pong' })
  await healthy.close()
})

t.test('a client that sends HTTP or TLS to the protocol port is reported as such', async (t) => {
  const { port, refused } = await start(t)
  await sendAndWait(port, Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
  await sendAndWait(port, Buffer.of(22, 3, 1, 2, 0, 1, 0, 1, 0xfc))
  t.match(refused, [/^it looks like HTTP/, /^it looks like TLS/])
})

t.test('random bytes never stop the process', async (t) => {
  const { port } = await start(t)
  const random = new Random(1)
  const request = encodeRequest({ kind: 'ping', id: 1 })
  const attempts = Array.from({ length: 200 }, () => {
    const bent = Buffer.from(random.chance(0.5) ? request : random.bytes(1 + random.integer(60)))
    bent[random.integer(bent.length)] = random.integer(256)
    return new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        if (random.chance(0.5)) socket.write(helloFrame)
        socket.end(bent)
      })
      socket.resume()
      socket.on('error', () => {})
      socket.on('close', () => resolve())
    })
  })
  await Promise.all(attempts)
  const healthy = await PeerClient.open(port)
  t.match(await healthy.ask({ kind: 'ping' }), { kind: 'pong' })
  await healthy.close()
})

t.test(
  'a peer that sends no hello, or no complete frame, is disconnected on timeout',
  async (t) => {
    const { port, refused } = await start(t, { limits: { handshakeMs: 2000, frameMs: 100 } })
    const silent = sendAndWait(port)
    const half = sendAndWait(port, helloFrame, Buffer.from([0, 0, 0, 9, 1]))
    const slowGreeting = sendAndWait(port, helloFrame.subarray(0, 7))
    const idle = await PeerClient.open(port)
    await Promise.all([silent, half, slowGreeting])
    t.equal(refused.filter((message) => /timed out waiting/.test(message)).length, 3)
    t.match(await idle.ask({ kind: 'ping' }), { kind: 'pong' }, 'an idle peer stays connected')
    await idle.close()
  },
)

t.test('a peer that does not read is disconnected when its send buffer is full', async (t) => {
  const { port, refused } = await start(t, {
    limits: { unsentBytesMax: 256 * 1024, slowReaderMs: 100 },
  })
  const writer = await PeerClient.open(port)
  const payload = Buffer.alloc(200_000)
  await writer.ask({ kind: 'submit', payload })
  const deaf = await PeerClient.open(port)
  deaf.socket.pause()
  const request = encodeRequest({ kind: 'get', id: 1, taskId: 1 })
  deaf.socket.write(Buffer.concat(Array.from({ length: 1000 }, () => request)))
  const other = await PeerClient.open(port)
  while (refused.length === 0) await other.ask({ kind: 'ping' })
  t.match(refused, [/does not read/])
  deaf.socket.destroy()
  await Promise.all([writer.close(), other.close()])
})
