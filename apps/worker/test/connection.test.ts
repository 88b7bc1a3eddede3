import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '@tenure/app-kit'
import { openLink, RejectedError, TenureError } from '@tenure/client'
import { AppProcess, cleanEnvironment } from '@tenure/testing'
import t, { type Test } from 'tap'
import { observeWorker } from '../src/events.js'
import { connectTo, handlerFile, makeDirectory, startWorker, World } from './world.js'

const program = fileURLToPath(new URL('./fixtures/coordinator.js', import.meta.url))

/** A coordinator that can be killed. */
async function startCoordinator(t: Test, dataDir: string, port: number) {
  const args = [dataDir, String(port)]
  const coordinator = new AppProcess(t, program, { args, env: cleanEnvironment(process.env) })
  await coordinator.line('started')
  return coordinator
}

t.test(
  'without a coordinator the worker is alive but not ready; it starts when one appears',
  async (t) => {
    const port = await freePort()
    const args = [
      '--handler',
      handlerFile(t, 'return "done"'),
      '--coordinator',
      `127.0.0.1:${port}`,
    ]
    const worker = startWorker(t, args)
    const { httpPort } = await worker.line('looking for a coordinator')
    t.match(await worker.line('cannot reach a coordinator'), { detail: /ECONNREFUSED/ })
    const statusOf = async (path: string) =>
      (await fetch(`http://127.0.0.1:${httpPort}${path}`)).status
    t.same([await statusOf('/healthz'), await statusOf('/readyz')], [200, 503])
    await startCoordinator(t, makeDirectory(t), port)
    await worker.line('started')
    t.equal(await statusOf('/readyz'), 200)
    const tenure = await connectTo(t, `127.0.0.1:${port}`)
    const { taskId } = await tenure.submit(Buffer.from('work'))
    t.match(await tenure.waitFor(taskId), { state: 'COMPLETED', attempt: 1 })
  },
)

t.test('a signal stops a worker that is looking for a coordinator', async (t) => {
  const worker = startWorker(t, ['--exec', 'true', '--coordinator', '127.0.0.1:1'])
  await worker.line('cannot reach a coordinator')
  t.match(await worker.stop(), { code: 0, stderr: '' })
})

t.test(
  'the worker continues its running task after the coordinator was killed and restarted',
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

t.test('a wrong or missing token ends the worker with exit code 2 and one line', async (t) => {
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

t.test('a taken HTTP port ends the worker with exit code 1 and a hint', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const args = ['--exec', 'true', '--http-port', String(port), '--coordinator', '127.0.0.1:1']
  const worker = startWorker(t, args)
  t.match(await worker.line('startup failed'), {
    level: 'fatal',
    code: 'WORKER_CANNOT_LISTEN',
    stack: undefined,
    msg: /EADDRINUSE.*--http-port to another port or off\.$/,
  })
  t.match(await worker.exited, { code: 1, stderr: '' })
})

/** Outside the system's ephemeral ports, so that no other process takes it while no coordinator listens. */
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

// How a worker ends by itself.

/** Long enough that no heartbeat is sent. */
const knobs = { leaseDurationMs: 60_000, heartbeatIntervalMs: 30_000 }

/** Provokes DUPLICATE_REPORT: another client reports under the worker's name first. */
async function misuse(t: Test, ...args: string[]) {
  const world = await World.start(t, { knobs })
  const go = join(makeDirectory(t), 'go')
  const command = `echo ready >&2; while [ ! -e ${go} ]; do sleep 0.05; done`
  const worker = world.worker(['--exec', command, '--name', 'w-1', '--concurrency', '1', ...args])
  const taskId = await world.submit()
  const { leaseId } = await worker.line('ready')
  await using link = await openLink({ endpoints: [world.endpoint], role: 'work', name: 'w-1' })
  const lease = { taskId, leaseId: Number(leaseId) }
  const answer = await link.request({ kind: 'complete', ...lease, reportId: 'another' })
  t.match(answer, { kind: 'committed' })
  writeFileSync(go, '')
  return { world, worker, lease }
}

t.test('a protocol error ends the worker with exit code 1 and is logged', async (t) => {
  const { worker, lease } = await misuse(t)
  t.match(await worker.line('rejected'), {
    ...lease,
    level: 'error',
    reason: 'DUPLICATE_REPORT',
  })
  const { code, stderr } = await worker.exited
  t.same([code, stderr], [1, ''])
  t.match(worker.lines.at(-1), {
    level: 'fatal',
    code: 'WORKER_PROTOCOL_ERROR',
    stack: undefined,
    msg: /^worker failed: .*task \d+ under lease \d+.*DUPLICATE_REPORT.*--keep-going$/,
  })
})

t.test('with --keep-going a protocol error is logged, and the worker continues', async (t) => {
  const { world, worker } = await misuse(t, '--keep-going')
  await worker.line('rejected')
  t.match(await world.run(), { state: 'COMPLETED' })
  const { httpPort } = await worker.line('started')
  const metrics = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  const name = 'tenure_worker_protocol_errors_total'
  t.match(metrics, `${name}{request="report",reason="DUPLICATE_REPORT"} 1`)
  t.match(await worker.stop(), { code: 0, stderr: '' })
})

t.test('a worker without a coordinator for --give-up-after ends with exit code 1', async (t) => {
  const args = ['--exec', 'true', '--coordinator', '127.0.0.1:1', '--give-up-after', '100ms']
  const worker = startWorker(t, args)
  t.match(await worker.exited, { code: 1, stderr: '' })
  t.match(worker.lines.at(-1), {
    level: 'fatal',
    code: 'WORKER_GAVE_UP',
    stack: undefined,
    msg: /^startup failed: there was no connection .* 100 ms.*--give-up-after$/,
  })
})

const endpoint = 'a:7411'
const away = new TenureError('CLIENT_DISCONNECTED', 'cannot connect')
const refusing = new RejectedError({ reason: 'UNAUTHORIZED', message: 'the token is wrong' })
const stopping = new RejectedError({ reason: 'STOPPING', message: 'it stops' })
const standby = new RejectedError({ reason: 'NOT_ACTIVE', message: 'a standby', active: 'b:7411' })
const otherLog = new TenureError('CLIENT_OTHER_LOG', 'a:7411 serves the log 2, not 1')

/** An observer and the lines that it writes. */
function observe() {
  const lines: object[] = []
  const write = (level: string) => (fields: object, msg: string) => {
    lines.push({ level, msg, ...fields })
  }
  const logger = { warn: write('warn'), error: write('error'), info: write('info') }
  return { lines, observer: observeWorker(logger as unknown as Logger) }
}

t.test('a rejecting coordinator and a missing one are logged differently', async (t) => {
  const { lines, observer } = observe()
  observer.attemptFailed?.({ endpoint, error: away, retryInMs: 100 })
  observer.attemptFailed?.({ endpoint, error: stopping, retryInMs: 100 })
  observer.attemptFailed?.({ endpoint, error: refusing })
  observer.attemptFailed?.({ endpoint, error: standby, retryInMs: 0 })
  observer.attemptFailed?.({ endpoint, error: otherLog })
  t.match(lines, [
    { level: 'warn', msg: 'cannot reach a coordinator; retrying', detail: 'cannot connect' },
    {
      level: 'warn',
      msg: 'the coordinator accepts no connections now; retrying',
      detail: /STOPPING/,
    },
    { level: 'error', msg: 'the coordinator rejects this worker', detail: /UNAUTHORIZED/ },
    { level: 'info', msg: 'the coordinator is a standby; retrying', detail: /NOT_ACTIVE/ },
    { level: 'error', msg: 'another scheduler answered', detail: /log 2/ },
  ])
})

t.test('repetitions of one failure are logged at powers of two', async (t) => {
  const { lines, observer } = observe()
  for (let times = 0; times < 20; times++) {
    observer.attemptFailed?.({ endpoint, error: away, retryInMs: 100 })
  }
  t.match(
    lines,
    [1, 2, 4, 8, 16].map((attempt) => ({ attempt })),
  )
  observer.attemptFailed?.({ endpoint, error: refusing })
  t.match(lines.at(-1), { level: 'error', attempt: 1 }, 'a different failure starts anew')
})
