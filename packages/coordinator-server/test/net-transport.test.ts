import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket as NetSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls, type TlsOptions } from 'node:tls'
import { ClientConnection, encodeRequest } from '@tenure/protocol'
import t, { type Test } from 'tap'
import { type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { netTransport } from '../src/net/net-transport.js'
import type { Socket } from '../src/net/transport.js'

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

/** A client that does not end because the other side does. */
function connectHalfOpen(port: number): NetSocket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  return socket.on('error', () => {})
}

function connectSilent(port: number): NetSocket {
  const socket = connect(port, '127.0.0.1').resume()
  return socket.on('error', () => {})
}

const closed = (socket: NetSocket) => new Promise<void>((done) => socket.on('close', () => done()))

t.test('a peer that goes on sending after the end is not waited for', async (t) => {
  const port = await listen(t, 200, (socket) => socket.end())
  const client = connectHalfOpen(port).resume()
  const dribbling = setInterval(() => client.write('x'), 20)
  await closed(client)
  clearInterval(dribbling)
  t.pass('it is closed')
})

t.test('what was answered leaves, though the peer has ended its side', async (t) => {
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

t.test('what a peer sends before its socket is resumed waits for it', async (t) => {
  for (const tls of [undefined, { key, cert }]) {
    let accepted = (_socket: Socket) => {}
    const socket = new Promise<Socket>((resolve) => {
      accepted = resolve
    })
    const transport = netTransport({ host: '127.0.0.1', port: 0, ...(tls && { tls }) })
    const listener = await transport.listen((socket) => accepted(socket))
    const place = { port: listener.port, host: '127.0.0.1', ca: cert }
    const client = tls === undefined ? connectHalfOpen(place.port) : connectTls(place)
    await new Promise((sent) => client.write('early', sent))
    const server = await socket
    // Were it read too soon, it would be by now.
    for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next))
    const heard = new Promise<string>((resolve) => server.onData((bytes) => resolve(`${bytes}`)))
    server.resume()
    t.equal(await heard, 'early')
    server.destroy()
    client.destroy()
    await listener.close()
  }
})

t.test('what leaves is seen to leave, piece by piece', async (t) => {
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
  t.ok(unsent.size > 3, 'long before all of it has')
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

/** Greets and pings; what came back, when the connection has ended or the pong is there. */
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

t.test('through TLS it is the same', async (t) => {
  const { port, refused } = await start(t, {})
  t.strictSame(await ping(port), ['welcome', 'answer'])
  t.strictSame(refused, [])
})

t.test('a client whose certificate is not trusted stays outside', async (t) => {
  const { port, refused, untilRefused } = await start(t, {
    ...{ ca: cert, requestCert: true, rejectUnauthorized: true },
  })
  t.strictSame(await ping(port), [])
  await untilRefused()
  t.match(refused, [/^PROTOCOL: the TLS handshake failed/])
  t.strictSame(await ping(port, { key, cert }), ['welcome', 'answer'])
})

t.test('what is no TLS is refused, and said', async (t) => {
  const { port, refused, untilRefused } = await start(t, {})
  const client = connectSilent(port)
  client.write('GET / HTTP/1.1\r\n\r\n')
  await closed(client)
  await untilRefused()
  t.match(refused, [/failed: http request \(a peer that does not use TLS\?\)$/])
})

t.test('who does not begin with TLS is counted, and disconnected in time', async (t) => {
  const { port, refused } = await start(t, {}, { limits: { connectionsMax: 2, handshakeMs: 2000 } })
  const clients = Array.from({ length: 5 }, () => connectSilent(port))
  await Promise.all(clients.map(closed))
  t.equal(refused.filter((message) => message.startsWith('TOO_MANY')).length, 3)
  t.equal(refused.filter((message) => message.includes('not ended in time')).length, 2)
})

t.test('who is in the middle of TLS does not hold up the stop', async (t) => {
  const { server, port } = await start(t, {})
  const silent = connectSilent(port)
  await new Promise<void>((connected) => silent.on('connect', () => connected()))
  await Promise.all([server.stop(), closed(silent)])
  t.pass('it has stopped')
})

t.test('a key that is none is an error of the start', async (t) => {
  await t.rejects(start(t, { key: 'no key' }), { code: 'COORDINATOR_CANNOT_LISTEN' })
})
