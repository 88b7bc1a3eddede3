import { once } from 'node:events'
import { Agent, request, Server } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { type HttpServer, serveHttp } from '../src/http-server.js'
import { Metrics } from '../src/metrics.js'

async function start(t: Test, metrics = new Metrics(true)): Promise<HttpServer> {
  const server = await serveHttp('127.0.0.1', 0, metrics, () => ({ isReady: true, replayMs: 7 }))
  t.teardown(() => server.close())
  return server
}

interface Reply {
  readonly status: number | undefined
  readonly headers: { readonly [name: string]: unknown }
  readonly body: string
}

function ask(server: HttpServer, path: string, method = 'GET', agent?: Agent): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { port } = server
    const asked = request({ host: '127.0.0.1', port, path, method, ...(agent && { agent }) })
    asked.on('error', reject)
    asked.on('response', async (response) => {
      const chunks = await response.toArray()
      const { statusCode: status, headers } = response
      resolve({ status, headers, body: Buffer.concat(chunks).toString() })
    })
    asked.end()
  })
}

t.test('a path that is not there is 404, and the answer says which are', async (t) => {
  const server = await start(t)
  for (const path of ['/', '/healthz/', '/metricsx', '/%2e%2e/metrics', '//']) {
    t.match(await ask(server, path), { status: 404, body: /\/healthz, \/readyz and \/metrics/ })
  }
  t.match(await ask(server, '/healthz?now'), { status: 200, body: 'alive\n' })
})

t.test('a method that is not there is 405 on every path, and says which are', async (t) => {
  const server = await start(t)
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    for (const path of ['/healthz', '/readyz', '/metrics', '/other']) {
      const { status, headers } = await ask(server, path, method)
      t.strictSame([status, headers.allow], [405, 'GET, HEAD'])
    }
  }
})

t.test('HEAD is GET without the body', async (t) => {
  const server = await start(t)
  for (const path of ['/healthz', '/readyz', '/other']) {
    const [head, get] = [await ask(server, path, 'HEAD'), await ask(server, path)]
    t.strictSame([head.status, head.body], [get.status, ''])
    for (const name of ['content-type', 'content-length']) {
      t.equal(head.headers[name], get.headers[name])
    }
  }
  t.match(await ask(server, '/metrics', 'HEAD'), { status: 200, body: '' })
})

t.test('metrics that cannot be had are 500, and nothing else suffers', async (t) => {
  const metrics = new Metrics(true)
  metrics.text = () => Promise.reject(new Error('no metrics today'))
  const server = await start(t, metrics)
  t.match(await ask(server, '/metrics'), { status: 500, body: /no metrics today/ })
  t.match(await ask(server, '/healthz'), { status: 200 })
})

t.test('an error after it has begun to listen does not stop it', async (t) => {
  const listened = t.capture(Server.prototype, 'listen', Server.prototype.listen)
  const server = await start(t)
  const [{ receiver }] = listened() as unknown as [{ receiver: Server }]
  const error = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  for (let times = 0; times < 3; times++) receiver.emit('error', error)
  t.match(await ask(server, '/healthz'), { status: 200 })
})

t.test('rubbish is answered and ends its own connection', async (t) => {
  const server = await start(t)
  const socket = connect(server.port, '127.0.0.1')
  socket.end('no HTTP at all\r\n\r\n')
  t.match(Buffer.concat(await socket.toArray()).toString(), /^HTTP\/1.1 400/)
  t.match(await ask(server, '/healthz'), { status: 200 })
})

t.test(
  'connections that are kept alive, or in the middle of a request, do not hold up the stop',
  async (t) => {
    const server = await start(t)
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    t.equal((await ask(server, '/healthz', 'GET', agent)).headers.connection, 'keep-alive')
    const half = connect(server.port, '127.0.0.1')
    half.on('error', () => {})
    half.write('GET /healthz HTTP/1.1\r\nhost:')
    await once(half, 'connect')
    t.match(await ask(server, '/healthz'), { status: 200 }, 'so the half one has been accepted')
    const closed = once(half, 'close')
    await server.close()
    await closed
    await t.rejects(ask(server, '/healthz', 'GET', agent), { code: 'ECONNREFUSED' })
  },
)
