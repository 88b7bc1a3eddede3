import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Server } from 'node:http'
import type { Socket } from 'node:net'
import { documentedDefaults } from '@tenure/testing'
import t, { type Test } from 'tap'
import { AllowedHosts } from '../src/allowed-hosts.js'
import { defaultHttpPortLimits } from '../src/http-port.js'
import { openHttpPort } from '../src/index.js'
import { ask, open, Peer } from './world.js'

/** The server of the next opened port. */
function captureServer(t: Test): () => Server {
  const listened = t.capture(Server.prototype, 'listen', Server.prototype.listen)
  let server: Server | undefined
  return () => (server ??= (listened() as unknown as [{ receiver: Server }])[0].receiver)
}

t.test('a page is answered with its status and type; a query string is ignored', async (t) => {
  const port = await open(t)
  t.match(await ask(port, '/healthz?now'), { status: 200, body: 'alive\n' })
  const headers = { 'content-type': 'application/json', 'content-length': '3' }
  t.match(await ask(port, '/readyz'), { status: 503, body: '{}\n', headers })
})

t.test('an unknown path is 404, and the answer lists the paths', async (t) => {
  const port = await open(t)
  for (const path of ['/', '/healthz/', '/healthzx', '/%2e%2e/healthz', '//', '/constructor']) {
    t.match(await ask(port, path), {
      status: 404,
      body: 'not found; the paths are /healthz, /readyz\n',
    })
  }
})

t.test(
  'a method other than GET and HEAD is 405 on every path, with the allowed ones',
  async (t) => {
    const port = await open(t)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      for (const path of ['/healthz', '/other']) {
        const { status, headers } = await ask(port, path, method)
        t.strictSame([status, headers.allow], [405, 'GET, HEAD'])
      }
    }
  },
)

t.test('HEAD is GET without the body', async (t) => {
  const port = await open(t)
  for (const path of ['/healthz', '/readyz', '/other']) {
    const [head, get] = [await ask(port, path, 'HEAD'), await ask(port, path)]
    t.strictSame([head.status, head.body], [get.status, ''])
    for (const name of ['content-type', 'content-length']) {
      t.equal(head.headers[name], get.headers[name])
    }
  }
})

t.test('a page that throws is 500, and others still work', async (t) => {
  const pages = {
    '/throws': () => {
      throw new Error('not today')
    },
    '/rejects': () => Promise.reject(new Error('nor tomorrow')),
    '/healthz': () => ({ body: 'alive\n' }),
  }
  const port = await open(t, { pages })
  t.match(await ask(port, '/throws'), { status: 500, body: 'Error: not today\n' })
  t.match(await ask(port, '/rejects'), { status: 500, body: 'Error: nor tomorrow\n' })
  t.match(await ask(port, '/healthz'), { status: 200 })
})

t.test('requests that arrive while a page is being made share it', async (t) => {
  let made = 0
  let arrived = 0
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const pages = {
    '/metrics': async () => {
      made++
      await finished
      return { body: `${made}` }
    },
    '/arrived': () => ({ body: `${++arrived}` }),
  }
  const port = await open(t, { pages })
  const asked = Array.from({ length: 20 }, () => new Peer(port))
  for (const { socket } of asked) socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await Promise.all(asked.map(({ socket }) => once(socket, 'ready')))
  // Data sent earlier on one connection is read before data sent now on another.
  await ask(port, '/arrived')
  const heard = asked.map((peer) => peer.heard())
  finish()
  for (const text of await Promise.all(heard)) t.match(text, /^HTTP\/1.1 200 .*\r\n\r\n1$/s)
  t.equal(made, 1)
  t.match(await ask(port, '/metrics'), { body: '2' }, 'and the next one is built again')
})

t.test('a request with a foreign host is rejected, with the flag that allows it', async (t) => {
  const port = await open(t, { allowedHosts: ['metrics.example'] })
  for (const path of ['/healthz', '/readyz', '/other']) {
    const { status, body } = await ask(port, path, 'GET', 'evil.example:7412')
    t.equal(status, 421)
    t.match(body, /^the host "evil.example:7412" is not allowed; .* --http-allowed-hosts/)
  }
  for (const host of ['metrics.example', 'localhost:1', '127.0.0.1', '[::1]:7412']) {
    t.match(await ask(port, '/healthz', 'GET', host), { status: 200 }, host)
  }
})

t.test("the port's own host name is allowed by default", async (t) => {
  const port = await open(t, { host: 'localhost' })
  t.match(await ask(port, '/healthz', 'GET', 'localhost'), { status: 200 })
})

t.test('HTTP/1.0 may omit the host, HTTP/1.1 may not', async (t) => {
  const port = await open(t)
  const [older, newer] = [new Peer(port), new Peer(port)]
  older.socket.write('GET /healthz HTTP/1.0\r\n\r\n')
  newer.socket.write('GET /healthz HTTP/1.1\r\n\r\n')
  t.match(await older.heard(), /^HTTP\/1.1 200 /)
  t.match(await newer.heard(), /^HTTP\/1.1 400 /)
})

t.test('garbage is answered and ends its own connection', async (t) => {
  const port = await open(t)
  const peer = new Peer(port)
  peer.socket.write('no HTTP at all\r\n\r\n')
  t.match(await peer.heard(), /^HTTP\/1.1 400/)
  t.match(await ask(port, '/healthz'), { status: 200 })
})

t.test('a connection carries one request and is then closed', async (t) => {
  const port = await open(t)
  const peer = new Peer(port)
  peer.socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(3))
  const text = await peer.heard()
  t.match(text, /^HTTP\/1.1 200 .*\r\nconnection: close\r\n/is)
  t.equal(text.split('alive').length - 1, 1)
})

t.test('a connection that never sends a byte is closed', async (t) => {
  const port = await open(t, { limits: { requestMs: 10, idleMs: 60_000 } })
  const peer = new Peer(port)
  t.match(await peer.heard(), /^HTTP\/1.1 408|^$/)
})

t.test('a connection that sends its head byte by byte is closed', async (t) => {
  const port = await open(t, { limits: { requestMs: 50, idleMs: 60_000 } })
  const peer = new Peer(port)
  peer.socket.write('GET /healthz HTTP/1.1\r\n')
  const drip = setInterval(() => peer.socket.write('x'), 5)
  t.teardown(() => clearInterval(drip))
  t.match(await peer.heard(), /^HTTP\/1.1 408/)
})

t.test('a connection that never ends its body is closed', async (t) => {
  const port = await open(t, { limits: { requestMs: 10 } })
  const peer = new Peer(port)
  peer.socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n')
  t.match(await peer.heard(), /^HTTP\/1.1 200/, 'it is answered without waiting for the body')
})

t.test('a connection that never reads its answer is closed', async (t) => {
  // More than the system's buffers hold for a connection.
  const pages = { '/large': () => ({ body: 'x'.repeat(32 * 2 ** 20) }) }
  const server = captureServer(t)
  const port = await open(t, { pages, limits: { idleMs: 50 } })
  const connected = once(server(), 'connection') as Promise<[Socket]>
  const peer = await Peer.open(port)
  peer.socket.write('GET /large HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const [socket] = await connected
  await once(socket, 'close')
  t.ok((await peer.heard()).length < 32 * 2 ** 20)
})

t.test('silent connections do not block the port: the oldest one is closed', async (t) => {
  const port = await open(t, { limits: { connectionsMax: 4, requestMs: 60_000, idleMs: 60_000 } })
  const silent: Peer[] = []
  for (let count = 0; count < 12; count++) silent.push(await Peer.open(port))
  for (const { socket } of silent) socket.resume()
  await Promise.all(silent.slice(0, 8).map(({ closed }) => closed))
  t.strictSame(
    silent.map(({ socket }) => socket.destroyed),
    [...Array(8).fill(true), ...Array(4).fill(false)],
  )
  t.match(await ask(port, '/healthz'), { status: 200 })
})

t.test('an accept error does not stop the server', async (t) => {
  const server = captureServer(t)
  const port = await open(t)
  const error = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  for (let times = 0; times < 3; times++) server().emit('error', error)
  t.match(await ask(port, '/healthz'), { status: 200 })
})

t.test("a taken port rejects with the system's error", async (t) => {
  const { port } = await open(t)
  const taken = openHttpPort({ host: '127.0.0.1', port, pages: {} })
  await t.rejects(taken, { code: 'EADDRINUSE' })
})

t.test('open connections do not delay close', async (t) => {
  const port = await open(t)
  const [silent, half] = [await Peer.open(port), await Peer.open(port)]
  half.socket.write('GET /healthz HTTP/1.1\r\nhost:')
  t.match(await ask(port, '/healthz'), { status: 200 }, 'so both have been accepted')
  for (const { socket } of [silent, half]) socket.resume()
  await port.close()
  await Promise.all([silent.closed, half.closed])
  await t.rejects(ask(port, '/healthz'), { code: 'ECONNREFUSED' })
})

// ---- limits
//
// Each test sets one limit to milliseconds and the other to seconds. How the connection ends tells which
// limit closed it.

t.test('a connection over the limit closes the oldest one', async (t) => {
  const server = captureServer(t)
  const port = await open(t, { limits: { connectionsMax: 2, requestMs: 60_000, idleMs: 60_000 } })
  const accepted: Socket[] = []
  for (let count = 0; count < 4; count++) {
    const connected = once(server(), 'connection') as Promise<[Socket]>
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

t.test('the README lists the defaults', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  t.strictSame(Object.fromEntries(documentedDefaults(readme)), { ...defaultHttpPortLimits })
  t.end()
})

// ---- allowed host names

const hosts = new AllowedHosts(['Metrics.Example', 'coordinator'])

t.test('loopback names, addresses and configured names are allowed', async (t) => {
  const good = [
    ...['localhost', 'localhost:7412', 'LOCALHOST.', 'tenure.localhost:7412'],
    ...['127.0.0.1', '127.0.0.1:7412', '10.1.2.3:80', '[::1]', '[fe80::1]:7412'],
    ...['metrics.example', 'METRICS.example.:7412', 'coordinator:7412'],
  ]
  for (const host of good) t.equal(hosts.allows(host), true, host)
})

t.test('any other name is rejected, however similar to an allowed one', async (t) => {
  const bad = [
    ...['evil.example', 'evil.example:7412', 'localhost.evil.example', 'notlocalhost'],
    ...['127.0.0.1.evil.example', 'x.metrics.example', 'metrics.example.evil', 'coordinator2'],
    ...[
      'evil.example@127.0.0.1',
      '[evil.example]',
      '[127.0.0.1]',
      '::1',
      '[::1',
      '127.0.0.1:80:80',
    ],
    ...['.', ':7412', ' ', '127.0.0.1 evil.example', 'localhost/evil'],
  ]
  for (const host of bad) t.equal(hosts.allows(host), false, host)
})

t.test('a request without a host is allowed: a browser always sends one', async (t) => {
  t.equal(hosts.allows(undefined), true)
  t.equal(hosts.allows(''), true)
})
