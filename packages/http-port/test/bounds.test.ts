import { once } from 'node:events'
import { Server } from 'node:http'
import type { Socket } from 'node:net'
import t from 'tap'
import { ask, open, Peer } from './world.js'

// Each test sets one limit to milliseconds and the other to seconds. How the connection ends tells which
// limit closed it.

t.test('a connection over the limit closes the oldest one', async (t) => {
  const listened = t.capture(Server.prototype, 'listen', Server.prototype.listen)
  const port = await open(t, { limits: { connectionsMax: 2, requestMs: 60_000, idleMs: 60_000 } })
  const [{ receiver: server }] = listened() as unknown as [{ receiver: Server }]
  const accepted: Socket[] = []
  for (let count = 0; count < 4; count++) {
    const connected = once(server, 'connection') as Promise<[Socket]>
    await Peer.open(port)
    accepted.push((await connected)[0])
  }
  t.strictSame(
    accepted.map(({ destroyed }) => destroyed),
    [true, true, false, false],
  )
  t.match(await ask(port, '/healthz'), { status: 200 })
  t.strictSame(
    accepted.map(({ destroyed }) => destroyed),
    [true, true, true, false],
  )
})

t.test('a request that is not complete in time is answered 408', async (t) => {
  const port = await open(t, { limits: { requestMs: 10, idleMs: 5000 } })
  const peer = new Peer(port)
  peer.socket.write('GET /healthz HTTP/1.1\r\nhost:')
  t.match(await peer.heard(), /^HTTP\/1.1 408/)
})

t.test('a connection that is idle for too long is closed without an answer', async (t) => {
  const port = await open(t, { limits: { requestMs: 5000, idleMs: 10 } })
  const peer = new Peer(port)
  peer.socket.write('GET /healthz HTTP/1.1\r\nhost:')
  t.equal(await peer.heard(), '')
})
