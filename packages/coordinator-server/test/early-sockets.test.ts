import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { ClientConnection, encodeRequest } from '@tenure/protocol'
import { SimulatedDisk } from '@tenure/testing'
import t, { type Test } from 'tap'
import { type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { netTransport } from '../src/net/net-transport.js'
import { PeerClient } from './peer-client.js'

const fixture = (name: string) =>
  readFileSync(new URL(`../../test/fixtures/${name}`, import.meta.url), 'utf8')
const tls = { key: fixture('key.pem'), cert: fixture('certificate.pem') }

/** A start that does not get beyond its first call to the disk before it is let go on. */
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
    ...{
      dataDir: '/data',
      httpPort: false,
      log: { disk: new SimulatedDisk({ latency: () => gate }) },
    },
    transport: {
      async listen(onSocket) {
        const { tls: encryption } = options
        const place = { host: '127.0.0.1', port: 0, ...(encryption && { tls: encryption }) }
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
  /** Settles when this many connections have reached the coordinator. */
  const arrival = async (count: number) => {
    while (arrived < count) await setImmediate()
  }
  return { starting, port: await port, goOn, arrival }
}

const connected = (client: PeerClient) =>
  new Promise<void>((resolve) => client.socket.once('connect', () => resolve()))

t.test('a client that comes during the start is served when it is ready', async (t) => {
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
})

t.test('through TLS it is the same', async (t) => {
  const { starting, port, goOn } = await beginStart(t, { tls })
  const socket = connectTls({ port, host: '127.0.0.1', ca: tls.cert })
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
  // The handshake is done during the start; what comes after it is read later.
  await new Promise<void>((shaken) => socket.once('secureConnect', () => shaken()))
  socket.write(ClientConnection.hello({ role: 'admin', name: 'x', capacity: 1 }))
  socket.write(encodeRequest({ kind: 'ping', id: 1 }))
  goOn()
  await starting
  t.equal(await answered, 'pong')
  socket.destroy()
})

t.test('of more clients than may wait for the start the oldest is closed', async (t) => {
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

t.test('a client that left during the start does not keep the next one out', async (t) => {
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

t.test('a start that fails closes those that wait for it', async (t) => {
  const { starting, port, goOn } = await beginStart(t)
  const client = new PeerClient(port)
  await connected(client)
  goOn(new Error('no such disk'))
  await t.rejects(starting, /no such disk/)
  await client.closed
  t.pass('and nobody listens any more')
})
