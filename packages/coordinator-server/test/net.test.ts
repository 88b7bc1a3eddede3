import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket as NetSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { connect as connectTls, type TlsOptions } from 'node:tls'
import { ClientConnection, encodeRequest } from '@tenure/protocol'
import { SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { BusyPoll, spinMs } from '../src/net/busy-poll.js'
import { netTransport } from '../src/net/net-transport.js'
import type { Socket } from '../src/net/transport.js'
import { PeerClient } from './peer-client.js'

// ---- sockets

const fixture = (name: string) =>
  readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url), 'utf8')
const [key, cert] = [fixture('key.pem'), fixture('certificate.pem')]

async function listen(t: Test, lingerMs: number, onSocket: (socket: Socket) => void) {
  const transport = netTransport({ host: '127.0.0.1', port: 0, lingerMs })
  const listener = await transport.listen((socket) => {
    onSocket(socket)
    socket.resume()
  })
  t.teardown(() => listener.close())
  return listener.port
}

/** A client that stays open when the server ends the connection. */
function connectHalfOpen(port: number): NetSocket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  return socket.on('error', () => {})
}

function connectSilent(port: number): NetSocket {
  const socket = connect(port, '127.0.0.1').resume()
  return socket.on('error', () => {})
}

const closed = (socket: NetSocket) => new Promise<void>((done) => socket.on('close', () => done()))

t.test('a peer that keeps sending after the end is closed', async (t) => {
  const port = await listen(t, 200, (socket) => socket.end())
  const client = connectHalfOpen(port).resume()
  const dribbling = setInterval(() => client.write('x'), 20)
  await closed(client)
  clearInterval(dribbling)
  t.pass('it is closed')
})

t.test('answers are sent even after the peer has ended its side', async (t) => {
  const bytes = 20_000_000
  const port = await listen(t, 60_000, (socket) => {
    socket.onData(() => socket.write(Buffer.alloc(bytes)))
  })
  const client = connectHalfOpen(port)
  let received = 0
  client.on('data', (piece) => {
    received += piece.length
  })
  client.end('x')
  await closed(client)
  t.equal(received, bytes)
})

t.test('data sent before the socket is resumed stays unread until then', async (t) => {
  for (const tls of [undefined, { key, cert }]) {
    let accepted = (_socket: Socket) => {}
    const socket = new Promise<Socket>((resolve) => {
      accepted = resolve
    })
    const transport = netTransport({ host: '127.0.0.1', port: 0, tls })
    const listener = await transport.listen((socket) => accepted(socket))
    const place = { port: listener.port, host: '127.0.0.1', ca: cert }
    const client = tls === undefined ? connectHalfOpen(place.port) : connectTls(place)
    await new Promise((sent) => client.write('early', sent))
    const server = await socket
    // If it were read too early, it would have arrived by now.
    for (let turn = 0; turn < 20; turn++) await setImmediate()
    const heard = new Promise<string>((resolve) => server.onData((bytes) => resolve(`${bytes}`)))
    server.resume()
    t.equal(await heard, 'early')
    server.destroy()
    client.destroy()
    await listener.close()
  }
})

t.test('sent bytes leave the count of unsent bytes piece by piece', async (t) => {
  const bytes = 50_000_000
  const sockets: Socket[] = []
  let drains = 0
  const port = await listen(t, 1000, (socket) => {
    sockets.push(socket)
    socket.onDrain(() => {
      drains++
    })
    socket.write(Buffer.alloc(bytes))
  })
  const client = connectHalfOpen(port)
  let received = 0
  const unsent = new Set<number>()
  client.on('data', (piece) => {
    received += piece.length
    unsent.add(sockets[0]?.unsentBytes ?? 0)
    if (received === bytes) client.end()
  })
  await closed(client)
  t.ok(unsent.size > 3, 'long before all bytes have left')
  t.strictSame([drains, sockets[0]?.unsentBytes], [1, 0])
})

async function start(t: Test, tls: TlsOptions, options: CoordinatorOptions = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenure-'))
  const refused: string[] = []
  let notice = () => {}
  const observer = {
    refused: ({ reason, message }: { reason: string; message: string }) => {
      refused.push(`${reason}: ${message}`)
      notice()
    },
  }
  const some = { dataDir, port: 0, httpPort: false, observer } as const
  const server = await startCoordinator({ ...some, tls: { key, cert, ...tls }, ...options })
  t.teardown(async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const untilRefused = async () => {
    while (refused.length === 0) {
      await new Promise<void>((resolve) => {
        notice = resolve
      })
    }
  }
  return { server, port: server.port, refused, untilRefused }
}

/** Sends a hello and a ping; returns the received bytes at the pong or at the end of the connection. */
function ping(port: number, options: object = {}): Promise<string[]> {
  const connection = new ClientConnection()
  const kinds: string[] = []
  const socket = connectTls({ port, host: '127.0.0.1', ca: cert, ...options })
  socket.on('error', () => {})
  socket.write(ClientConnection.hello({ role: 'admin', name: 'x', capacity: 1 }))
  socket.write(encodeRequest({ kind: 'ping', id: 1 }))
  socket.on('data', (bytes) => {
    connection.push(bytes)
    for (let reply = connection.next(); reply !== undefined; reply = connection.next()) {
      kinds.push(reply.kind)
      if (reply.kind === 'answer') socket.end()
    }
  })
  return closed(socket).then(() => kinds)
}

t.test('the same works over TLS', async (t) => {
  const { port, refused } = await start(t, {})
  t.strictSame(await ping(port), ['welcome', 'answer'])
  t.strictSame(refused, [])
})

t.test('a client with an untrusted certificate is rejected', async (t) => {
  const { port, refused, untilRefused } = await start(t, {
    ca: cert,
    requestCert: true,
    rejectUnauthorized: true,
  })
  t.strictSame(await ping(port), [])
  await untilRefused()
  t.match(refused, [/^PROTOCOL: the TLS handshake failed/])
  t.strictSame(await ping(port, { key, cert }), ['welcome', 'answer'])
})

t.test('a client without TLS is rejected with a hint', async (t) => {
  const { port, refused, untilRefused } = await start(t, {})
  const client = connectSilent(port)
  client.write('GET / HTTP/1.1\r\n\r\n')
  await closed(client)
  await untilRefused()
  t.match(refused, [/failed: http request \(does the peer use TLS\?\)$/])
})

t.test('a client that does not start TLS is counted, and disconnected on timeout', async (t) => {
  const { port, refused } = await start(t, {}, { limits: { connectionsMax: 2, handshakeMs: 2000 } })
  const clients = Array.from({ length: 5 }, () => connectSilent(port))
  await Promise.all(clients.map(closed))
  t.equal(refused.filter((message) => message.startsWith('TOO_MANY')).length, 3)
  t.equal(refused.filter((message) => message.includes('timed out waiting')).length, 2)
})

t.test('a client in the middle of its TLS handshake does not delay shutdown', async (t) => {
  const { server, port } = await start(t, {})
  const silent = connectSilent(port)
  await new Promise<void>((done) => silent.on('connect', () => done()))
  await Promise.all([server.stop(), closed(silent)])
  t.pass('it has stopped')
})

t.test('an invalid key fails startup', async (t) => {
  await t.rejects(start(t, { key: 'no key' }), { code: 'COORDINATOR_CANNOT_LISTEN' })
})

// ---- sockets that come during the start

/** A startup that hangs in its first disk call until the test continues it. */
async function beginStart(t: Test, options: CoordinatorOptions = {}) {
  let goOn = (_error?: Error) => {}
  const gate = new Promise<void>((resolve, reject) => {
    goOn = (error) => (error === undefined ? resolve() : reject(error))
  })
  let listening = (_port: number) => {}
  const port = new Promise<number>((resolve) => {
    listening = resolve
  })
  let arrived = 0
  const starting = startCoordinator({
    dataDir: '/data',
    httpPort: false,
    log: { disk: new SimulatedDisk({ latency: () => gate }) },
    transport: {
      async listen(onSocket) {
        const { tls: encryption } = options
        const place = { host: '127.0.0.1', port: 0, tls: encryption }
        const listener = await netTransport(place).listen((socket) => {
          onSocket(socket)
          arrived++
        })
        listening(listener.port)
        return listener
      },
    },
    ...options,
  })
  t.teardown(() => {
    goOn()
    return starting.then((server) => server.stop()).catch(() => {})
  })
  /** Resolves when this many connections have reached the coordinator. */
  const arrival = async (count: number) => {
    while (arrived < count) await setImmediate()
  }
  return { starting, port: await port, goOn, arrival }
}

const connected = (client: PeerClient) =>
  new Promise<void>((resolve) => client.socket.once('connect', () => resolve()))

t.test(
  'a client that connects during startup is served when the coordinator is ready',
  async (t) => {
    const { starting, port, goOn } = await beginStart(t)
    const client = new PeerClient(port)
    const greeting = client.greet()
    const submitted = client.ask({ kind: 'submit', payload: Buffer.from('work') })
    await connected(client)
    goOn()
    await starting
    t.match(await greeting, { version: 1, epoch: 1 })
    t.match(await submitted, { kind: 'submitted', taskId: 1 })
    await client.close()
  },
)

t.test(
  'a client that connects over TLS during startup is served when the coordinator is ready',
  async (t) => {
    const { starting, port, goOn } = await beginStart(t, { tls: { key, cert } })
    const socket = connectTls({ port, host: '127.0.0.1', ca: cert })
    const connection = new ClientConnection()
    const answered = new Promise<string>((resolve, reject) => {
      socket.on('error', reject).on('close', () => reject(new Error('it was closed')))
      socket.on('data', (bytes) => {
        connection.push(bytes)
        for (let reply = connection.next(); reply !== undefined; reply = connection.next()) {
          if (reply.kind === 'answer') resolve(reply.answer.kind)
        }
      })
    })
    // The handshake completes during startup; later data is read afterwards.
    await new Promise<void>((shaken) => socket.once('secureConnect', () => shaken()))
    socket.write(ClientConnection.hello({ role: 'admin', name: 'x', capacity: 1 }))
    socket.write(encodeRequest({ kind: 'ping', id: 1 }))
    goOn()
    await starting
    t.equal(await answered, 'pong')
    socket.destroy()
  },
)

t.test('above the limit of clients during startup, the oldest is closed', async (t) => {
  const { starting, port, goOn, arrival } = await beginStart(t, { limits: { connectionsMax: 2 } })
  const clients: PeerClient[] = []
  for (let index = 0; index < 3; index++) {
    const client = new PeerClient(port)
    clients.push(client)
    await connected(client)
  }
  await arrival(3)
  const greetings = clients.map((client) => client.greet().catch(() => 'closed'))
  goOn()
  await starting
  t.match(await Promise.all(greetings), ['closed', { version: 1 }, { version: 1 }])
  await Promise.all(clients.map((client) => client.close()))
})

t.test('a client that left during startup does not keep the next one out', async (t) => {
  const { starting, port, goOn } = await beginStart(t, { limits: { connectionsMax: 1 } })
  const gone = new PeerClient(port)
  await connected(gone)
  gone.socket.resetAndDestroy()
  await gone.closed
  const client = new PeerClient(port)
  await connected(client)
  goOn()
  await starting
  t.match(await client.greet(), { version: 1 })
  await client.close()
})

t.test('a failed startup closes the waiting connections', async (t) => {
  const { starting, port, goOn } = await beginStart(t)
  const client = new PeerClient(port)
  await connected(client)
  goOn(new Error('no such disk'))
  await t.rejects(starting, /no such disk/)
  await client.closed
  t.pass('and the port is closed')
})

// ---- the turns of the event loop

/** An event loop whose turns the test runs. */
class Loop {
  nowMs = 0
  turns = 0
  #next: (() => void) | undefined

  monotonicMs(): number {
    return this.nowMs
  }

  soon(callback: () => void): void {
    if (this.#next !== undefined) throw new Error('one callback for each turn is enough')
    this.#next = callback
  }

  get isAwake(): boolean {
    return this.#next !== undefined
  }

  /** Runs turns while the loop spins, at most this many. */
  turn(turns: number, msEach: number): void {
    for (let turn = 0; turn < turns && this.#next !== undefined; turn++) {
      this.nowMs += msEach
      this.turns++
      const next = this.#next
      this.#next = undefined
      next()
    }
  }
}

const [one, other] = [{}, {}]

/** A request that arrives this long after the last answer, and is answered immediately. */
function ask(busyPoll: BusyPoll, loop: Loop, afterMs: number, connection = one): void {
  loop.nowMs += afterMs
  busyPoll.heard(connection)
  busyPoll.answered(connection)
}

t.test('with a single client that sends its next request soon, the loop spins', (t) => {
  const loop = new Loop()
  const busyPoll = new BusyPoll(loop)
  ask(busyPoll, loop, 1000)
  t.notOk(loop.isAwake, 'a first request does not start spinning')
  ask(busyPoll, loop, spinMs / 2)
  t.ok(loop.isAwake)
  loop.turn(4, spinMs / 5)
  t.ok(loop.isAwake)
  ask(busyPoll, loop, 0)
  loop.turn(4, spinMs / 5)
  t.ok(loop.isAwake, 'each answer restarts the time')
  loop.turn(4, spinMs / 5)
  t.notOk(loop.isAwake)
  t.equal(loop.turns, 10)
  t.end()
})

t.test('without a next request in time the loop sleeps until one arrives', (t) => {
  const loop = new Loop()
  const busyPoll = new BusyPoll(loop)
  for (let request = 0; request < 5; request++) {
    ask(busyPoll, loop, spinMs * 1.5)
    t.notOk(loop.isAwake)
  }
  ask(busyPoll, loop, spinMs / 2)
  loop.turn(100, spinMs / 5)
  ask(busyPoll, loop, spinMs * 10)
  t.notOk(loop.isAwake, 'after spinning in vain, the loop sleeps')
  t.end()
})

t.test('with several active clients the loop sleeps, and handles their requests together', (t) => {
  const loop = new Loop()
  const busyPoll = new BusyPoll(loop)
  for (let request = 0; request < 5; request++) {
    for (const connection of [one, other]) ask(busyPoll, loop, 0, connection)
    t.notOk(loop.isAwake)
  }
  ask(busyPoll, loop, 0, other)
  t.ok(loop.isAwake, 'the other client is alone now')
  ask(busyPoll, loop, 0, one)
  loop.turn(1, 0)
  t.notOk(loop.isAwake)
  for (const connection of [one, other]) busyPoll.heard(connection)
  for (const connection of [one, other]) busyPoll.answered(connection)
  for (const connection of [one, other]) busyPoll.heard(connection)
  t.notOk(loop.isAwake, 'the last client of a batch is not alone')
  t.end()
})
