import t, { type Test } from 'tap'
import { serveHttp } from '../src/observe/http-server.js'
import { Metrics } from '../src/observe/metrics.js'
import type { Health } from '../src/observe/readiness.js'

async function start(t: Test, metrics = new Metrics(true), health: Health = { isReady: true }) {
  const server = await serveHttp({ host: '127.0.0.1', port: 0, metrics, health: () => health })
  t.teardown(() => server.close())
  return (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`)
}

t.test('metrics and health are there, and a path that is not there names them', async (t) => {
  const ask = await start(t)
  t.equal(await (await ask('/healthz')).text(), 'alive\n')
  t.match(await (await ask('/metrics')).text(), /^# HELP tenure_/m)
  t.match(await (await ask('/')).text(), /\/healthz, \/readyz, \/metrics/)
})

t.test('before requests are served it is not ready, and says how far the replay is', async (t) => {
  const health = { isReady: false, replayed: { applied: 3, total: 7 } }
  const ask = await start(t, new Metrics(false), health)
  const answer = await ask('/readyz')
  t.equal(answer.status, 503)
  t.same(await answer.json(), health)
  t.equal((await (await start(t))('/readyz')).status, 200)
})

t.test('metrics that cannot be had are 500, and nothing else suffers', async (t) => {
  const metrics = new Metrics(true)
  metrics.text = () => Promise.reject(new Error('no metrics today'))
  const ask = await start(t, metrics)
  const answer = await ask('/metrics')
  t.equal(answer.status, 500)
  t.match(await answer.text(), /no metrics today/)
  t.equal((await ask('/healthz')).status, 200)
})

t.test('a port that is taken is a clear error', async (t) => {
  const metrics = new Metrics(false)
  const health = () => ({ isReady: true })
  const first = await serveHttp({ host: '127.0.0.1', port: 0, metrics, health })
  t.teardown(() => first.close())
  await t.rejects(serveHttp({ host: '127.0.0.1', port: first.port, metrics, health }), {
    code: 'COORDINATOR_CANNOT_LISTEN',
    message: /EADDRINUSE.*another httpPort/,
  })
})
