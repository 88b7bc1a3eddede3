import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import type { CoordinatorObserver } from '@tenure/coordinator-server'
import t, { type Test } from 'tap'
import { handlerFile, makeDirectory, startWorker, World } from './world.js'

t.test('a handler runs, and its result is committed', async (t) => {
  const world = await World.start(t)
  const body =
    'task.log.info("at work", { queue: task.queue, level: "fatal" })\nreturn { bytes: task.payload.length }'
  const worker = world.worker(['--handler', handlerFile(t, body), '--name', 'w-1'])
  t.match(await worker.line('started'), { name: 'w-1', queues: ['default'] })
  const task = await world.run('12345')
  t.match(task, { state: 'COMPLETED', attempt: 1, result: '{"bytes":5}' })
  t.match(task.attempts, [{ workerId: 'w-1', outcome: 'COMPLETED' }])
  t.match(await worker.line('at work'), { level: 'info', taskId: 1, fields: { level: 'fatal' } })
  t.match(await worker.stop(), { code: 0, stderr: '' })
})

t.test('a thrown error is a failure, and the next attempt can complete the task', async (t) => {
  const world = await World.start(t)
  const body = 'if (task.attempt === 1) throw new Error("not yet")\nreturn "done"'
  const worker = world.worker(['--handler', handlerFile(t, body)])
  const retryPolicy = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 0 } } as const
  const task = await world.end(await world.submit('work', { retryPolicy }))
  t.match(task, { state: 'COMPLETED', attempt: 2, result: '"done"', failures: 1 })
  t.match(
    task.attempts.map(({ outcome }) => outcome),
    ['FAILED', 'COMPLETED'],
  )
  t.match(await worker.line('handler failed'), { level: 'warn', detail: 'Error: not yet' })
})

t.test('every log line is JSON without payloads, results or tokens', async (t) => {
  const tokens = [{ token: 'hush-hush', roles: ['produce', 'work', 'admin'] as const }]
  const world = await World.start(t, { tokens })
  const body = 'if (task.attempt === 1) throw new Error("no")\nreturn "the secret result"'
  const args = ['--log-level', 'trace', '--handler', handlerFile(t, body)]
  const worker = world.worker(args, { TENURE_TOKEN: 'hush-hush' })
  const retryPolicy = { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 0 } } as const
  const task = await world.end(await world.submit('the secret payload', { retryPolicy }))
  t.equal(task.result, '"the secret result"')
  await worker.line('committed', { state: 'COMPLETED' })
  const { stdout, stderr } = await worker.stop()
  const lines = stdout.trimEnd().split('\n')
  t.ok(lines.every((line) => JSON.parse(line).msg))
  t.notMatch(stdout + stderr, /secret|hush/)
})

t.test('the environment of a handler contains no secrets of the worker', async (t) => {
  const tokens = [{ token: 'hush-hush', roles: ['produce', 'work', 'admin'] as const }]
  const handler = handlerFile(t, 'return Object.values(process.env).join()')
  for (const isolation of ['thread', 'process', 'inline']) {
    const world = await World.start(t, { tokens })
    const env = { TENURE_TOKEN: 'hush-hush', GREETING: 'hello' }
    world.worker(['--handler', handler, '--isolation', isolation], env)
    const { result } = await world.run()
    t.match(result, /hello/, isolation)
    t.notMatch(result, /hush/, isolation)
  }
})

t.test('the metrics count what the worker did', async (t) => {
  const world = await World.start(t)
  const worker = world.worker(['--handler', handlerFile(t, 'return "done"')])
  const { httpPort } = await worker.line('started')
  await world.run()
  const look = (path: string, init = {}) => fetch(`http://127.0.0.1:${httpPort}${path}`, init)
  const metrics = await look('/metrics')
  t.match(metrics.headers.get('content-type'), /^text\/plain; version=0\.0\.4/)
  const text = await metrics.text()
  t.match(text, /^tenure_worker_leases_total 1$/m)
  t.match(text, /^tenure_worker_connected 1$/m)
  t.match(text, /^tenure_worker_reports_total\{answer="committed",reason=""\} 1$/m)
  t.match(text, /^tenure_process_cpu_seconds_total /m)
  const ready = await look('/readyz')
  t.equal(ready.status, 200)
  t.match(await ready.json(), { isReady: true, isConnected: true })
  t.equal((await look('/nowhere')).status, 404)
  const posted = await look('/metrics', { method: 'POST' })
  t.equal(posted.status, 405)
  t.equal(posted.headers.get('allow'), 'GET, HEAD')
  t.equal(await (await look('/healthz', { method: 'HEAD' })).text(), '')
})

t.test('the HTTP port answers only to allowed host names', async (t) => {
  const args = ['--exec', 'true', '--http-allowed-hosts', 'worker.example, other']
  const worker = startWorker(t, [...args, '--coordinator', '127.0.0.1:1'])
  const { httpPort } = await worker.line('looking for a coordinator')
  for (const [host, status] of [
    ['worker.example', 200],
    ['other:7413', 200],
    ['evil.example', 421],
  ] as const) {
    const asked = get({
      host: '127.0.0.1',
      port: Number(httpPort),
      path: '/healthz',
      headers: { host },
    })
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    t.equal(response.statusCode, status, host)
  }
})

t.test(
  'a handler that cannot be loaded ends the worker with exit code 2 and one plain line',
  async (t) => {
    const handler = handlerFile(t, '}\nimport "./nowhere.mjs"\n{')
    const { code, stderr } = await startWorker(t, ['--handler', handler]).exited
    t.equal(code, 2)
    t.match(stderr, /^tenure-worker: file:.*cannot be loaded: .*nowhere\.mjs/)
  },
)

t.test('a spinning handler keeps its lease, because heartbeats continue', async (t) => {
  const isolations = ['thread', 'process']
  const tasks = await Promise.all(isolations.map((isolation) => spin(t, isolation)))
  for (const task of tasks) t.match(task, { state: 'COMPLETED', attempt: 1, result: '"done"' })
})

async function spin(t: Test, isolation: string) {
  const { observer, extended } = heartbeats()
  const world = await World.start(t, { observer })
  const go = join(makeDirectory(t), 'go')
  const body = `const { existsSync } = process.getBuiltinModule('fs')
while (!existsSync('${go}'));
return "done"`
  world.worker(['--handler', handlerFile(t, body), '--isolation', isolation])
  const taskId = await world.submit()
  await extended
  writeFileSync(go, '')
  return world.end(taskId)
}

t.test('a command that floods its standard error keeps its lease', async (t) => {
  const { observer, extended } = heartbeats()
  const world = await World.start(t, { observer })
  const go = join(makeDirectory(t), 'go')
  const wait = `while [ ! -e ${go} ]; do sleep 0.05; done`
  const worker = world.worker(['--exec', `yes >&2 & ${wait}; echo done`])
  const taskId = await world.submit()
  await extended
  t.match(await worker.line('log lines dropped'), { level: 'warn', taskId: 1 })
  writeFileSync(go, '')
  t.match(await world.end(taskId), { state: 'COMPLETED', attempt: 1, result: 'done\n' })
})

t.test(
  'an inline handler that spins loses its lease, because it blocks the heartbeats',
  async (t) => {
    const world = await World.start(t, { knobs: { leaseDurationMs: 300, heartbeatIntervalMs: 50 } })
    const args = ['--isolation', 'inline', '--concurrency', '1']
    const spinning = 'const end = Date.now() + 1000\nwhile (Date.now() < end);'
    const body = `if (task.attempt > 1) return "done"\n${spinning}\nreturn "done"`
    const worker = world.worker(['--handler', handlerFile(t, body), ...args])
    const task = await world.run()
    t.match(task, { state: 'COMPLETED', attempts: [{ outcome: 'EXPIRED' }] })
    t.match(await worker.line('lease lost', { attempt: 1 }), { reason: 'DEADLINE' })
  },
)

/** `extended` resolves when the coordinator has granted four heartbeats. */
function heartbeats() {
  let granted = 0
  let settle = () => {}
  const extended = new Promise<void>((resolve) => {
    settle = resolve
  })
  const answered: CoordinatorObserver['answered'] = (_, answer) => {
    if (answer.kind === 'extended' && ++granted === 4) settle()
  }
  return { observer: { answered }, extended }
}
