import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClientConnection, encodeRequest } from '@tenure/protocol'
import { Random } from '@tenure/testing'
import t, { type Test } from 'tap'
import { type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { PeerClient } from './peer-client.js'

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

/** Sends bytes, and settles when the server has ended the connection. */
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

const hello = ClientConnection.hello({ role: 'admin', name: 'x', capacity: 1 })
const frame = (...body: number[]) => Buffer.from([0, 0, 0, body.length, ...body])

t.test('bombs and rubbish end their own connection and nothing else', async (t) => {
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
    if (bytes !== hello)
      t.equal((await sendAndWait(port, bytes)).length, 0, `${name}, before the handshake`)
    const answered = await sendAndWait(port, hello, bytes)
    t.ok(answered.length > 20, `${name}, after the handshake: one clear word`)
  }
  t.match(await healthy.ask({ kind: 'ping' }), { kind: 'pong' })
  await healthy.close()
})

t.test('who speaks HTTP or TLS to the port of the protocol is told of as such', async (t) => {
  const { port, refused } = await start(t)
  await sendAndWait(port, Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'))
  await sendAndWait(port, Buffer.of(22, 3, 1, 2, 0, 1, 0, 1, 0xfc))
  t.match(refused, [/^it looks like HTTP/, /^it looks like TLS/])
})

t.test('random bytes never stop the process', async (t) => {
  const { port } = await start(t)
  const random = new Random(1)
  const ping = encodeRequest({ kind: 'ping', id: 1 })
  const attempts = Array.from({ length: 200 }, () => {
    const bent = Buffer.from(random.chance(0.5) ? ping : random.bytes(1 + random.integer(60)))
    bent[random.integer(bent.length)] = random.integer(256)
    return new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        if (random.chance(0.5)) socket.write(hello)
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

t.test('who does not greet, or does not end a frame, is disconnected in time', async (t) => {
  const { port, refused } = await start(t, { limits: { handshakeMs: 2000, frameMs: 100 } })
  const silent = sendAndWait(port)
  const half = sendAndWait(port, hello, Buffer.from([0, 0, 0, 9, 1]))
  const slowGreeting = sendAndWait(port, hello.subarray(0, 7))
  const idle = await PeerClient.open(port)
  await Promise.all([silent, half, slowGreeting])
  t.equal(refused.filter((message) => /not ended in time/.test(message)).length, 3)
  t.match(await idle.ask({ kind: 'ping' }), { kind: 'pong' }, 'who has nothing to say may stay')
  await idle.close()
})

t.test('who does not read is disconnected when too much waits for it', async (t) => {
  const { port, refused } = await start(t, { limits: { unsentBytesMax: 256 * 1024, deafMs: 100 } })
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
