import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { AppProcess, cleanEnvironment } from '@tenure/testing'
import t, { type Test } from 'tap'
import { connectTo, handlerFile, makeDirectory, startWorker, World } from './world.js'

const program = fileURLToPath(new URL('./fixtures/coordinator.js', import.meta.url))

/** A coordinator that can be killed. */
async function startCoordinator(t: Test, dataDir: string, port: number) {
  const args = [dataDir, String(port)]
  const coordinator = new AppProcess(t, program, { args, env: cleanEnvironment(process.env) })
  await coordinator.line('started')
  return coordinator
}

t.test('without a coordinator it is alive, not ready, and starts when there is one', async (t) => {
  const port = await freePort()
  const args = ['--handler', handlerFile(t, 'return "done"'), '--coordinator', `127.0.0.1:${port}`]
  const worker = startWorker(t, args)
  const { httpPort } = await worker.line('looking for a coordinator')
  t.match(await worker.line('no coordinator there'), { detail: /ECONNREFUSED/ })
  const statusOf = async (path: string) =>
    (await fetch(`http://127.0.0.1:${httpPort}${path}`)).status
  t.same([await statusOf('/healthz'), await statusOf('/readyz')], [200, 503])
  await startCoordinator(t, makeDirectory(t), port)
  await worker.line('started')
  t.equal(await statusOf('/readyz'), 200)
  const tenure = await connectTo(t, `127.0.0.1:${port}`)
  const { taskId } = await tenure.submit(Buffer.from('work'))
  t.match(await tenure.waitFor(taskId), { state: 'COMPLETED', attempt: 1 })
})

t.test('a signal ends it while it looks for a coordinator', async (t) => {
  const worker = startWorker(t, ['--exec', 'true', '--coordinator', '127.0.0.1:1'])
  await worker.line('no coordinator there')
  t.match(await worker.stop(), { code: 0, stderr: '' })
})

t.test(
  'it goes on when the coordinator was killed and is back, with the task at hand',
  async (t) => {
    const dataDir = makeDirectory(t)
    const port = await freePort()
    const coordinator = await startCoordinator(t, dataDir, port)
    const tenure = await connectTo(t, `127.0.0.1:${port}`)
    const path = `${makeDirectory(t)}/go`
    const wait = `while [ ! -e ${path} ]; do sleep 0.05; done`
    const command = `if [ "$(cat)" = long ]; then echo ready >&2; ${wait}; else touch ${path}; fi`
    const args = ['--exec', command, '--coordinator', `127.0.0.1:${port}`, '--concurrency', '2']
    const worker = startWorker(t, args)
    const { taskId: atHand } = await tenure.submit(Buffer.from('long'))
    await worker.line('ready')
    coordinator.kill('SIGKILL')
    await worker.line('connection lost')
    await startCoordinator(t, dataDir, port)
    t.ok(await worker.line('connected', { epoch: 2 }))
    const { taskId: next } = await tenure.submit(Buffer.from('short'))
    t.match(await tenure.waitFor(next), { state: 'COMPLETED', attempt: 1 })
    t.match(await tenure.waitFor(atHand), { state: 'COMPLETED', attempt: 1 })
  },
)

t.test('a token that is wrong or missing ends it with 2 and one line', async (t) => {
  const tokens = [{ token: 'hush-hush', roles: ['produce', 'work', 'admin'] as const }]
  const world = await World.start(t, { tokens })
  for (const env of [{ TENURE_TOKEN: 'hush-hash' }, {}]) {
    const { code, stdout, stderr } = await world.worker(['--exec', 'true'], env).exited
    t.equal(code, 2)
    t.match(
      stderr,
      /^tenure-worker: UNAUTHORIZED: the token is wrong or missing.*TENURE_TOKEN.*\n$/,
    )
    t.notMatch(stdout + stderr, /hush/)
  }
})

t.test('an HTTP port that is taken ends it with 1, and it says what to do', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const args = ['--exec', 'true', '--http-port', String(port), '--coordinator', '127.0.0.1:1']
  const worker = startWorker(t, args)
  t.match(await worker.line('not started'), {
    level: 'fatal',
    code: 'WORKER_CANNOT_LISTEN',
    stack: undefined,
    msg: /EADDRINUSE.*--http-port, or off$/,
  })
  t.match(await worker.exited, { code: 1, stderr: '' })
})

/** Below those that the system gives out itself: nothing takes it while no coordinator listens there. */
async function freePort(): Promise<number> {
  for (let port = 20_000 + (process.pid % 10_000); ; port++) {
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
