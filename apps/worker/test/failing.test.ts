import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLink } from '@tenure/client'
import t, { type Test } from 'tap'
import { makeDirectory, startWorker, World } from './world.js'

// How a worker ends by itself.

/** Long enough for no heartbeat to be sent. */
const knobs = { leaseDurationMs: 60_000, heartbeatIntervalMs: 30_000 }

/** A worker whose one report is DUPLICATE_REPORT: another one reports under its name before it. */
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

t.test('a protocol error ends the worker with 1, and a line says which', async (t) => {
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

t.test('with --keep-going it is told of, and the worker goes on', async (t) => {
  const { world, worker } = await misuse(t, '--keep-going')
  await worker.line('rejected')
  t.match(await world.run(), { state: 'COMPLETED' })
  const { httpPort } = await worker.line('started')
  const metrics = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  const name = 'tenure_worker_protocol_errors_total'
  t.match(metrics, `${name}{request="report",reason="DUPLICATE_REPORT"} 1`)
  t.match(await worker.stop(), { code: 0, stderr: '' })
})

t.test('a worker that finds no coordinator in --give-up-after ends with 1', async (t) => {
  const args = ['--exec', 'true', '--coordinator', '127.0.0.1:1', '--give-up-after', '100ms']
  const worker = startWorker(t, args)
  t.match(await worker.exited, { code: 1, stderr: '' })
  t.match(worker.lines.at(-1), {
    level: 'fatal',
    code: 'WORKER_GAVE_UP',
    stack: undefined,
    msg: /^not started: there was no connection .* 100 ms.*--give-up-after$/,
  })
})
