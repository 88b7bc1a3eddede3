import { fileURLToPath } from 'node:url'
import type { Explanation } from '@tenure/history'
import type { LogRecord } from '@tenure/state-machine'
import { AppProcess, cleanEnvironment, StallingProxy } from '@tenure/testing'
import t, { type Test } from 'tap'
import { extend, leaseFrom, leaseMs, reportOf, Scene } from './scene.js'

const span = String.raw`\d+(?:\.\d)? (?:ms|s)`
const crashingWorker = fileURLToPath(new URL('./fixtures/crashing-worker.js', import.meta.url))

/** The records of the log by LSN. */
async function readRecords(scene: Scene): Promise<ReadonlyMap<number, LogRecord>> {
  const records = new Map<number, LogRecord>()
  for await (const run of (await scene.history()).read()) {
    for (const { lsn, record } of run) records.set(lsn, record)
  }
  return records
}

/** Checks the numbers of the first cause against the records. */
async function checkNumbers(t: Test, scene: Scene, { causes, attempts }: Explanation) {
  const [cause] = causes
  const records = [...(await readRecords(scene)).entries()]
  const own = records.filter(([lsn, record]) => {
    return lsn === cause?.leaseId || ('leaseId' in record && record.leaseId === cause?.leaseId)
  })
  const of = (type: LogRecord['type']) => own.filter(([, record]) => record.type === type)
  const beats = of('LeaseExtended').map(([, record]) => record)
  const [[, granted]] = of('LeaseGranted') as [[number, LogRecord & { type: 'LeaseGranted' }]]
  const last = beats.at(-1) as (LogRecord & { type: 'LeaseExtended' }) | undefined
  const expiry = last?.newLeaseExpiry ?? granted.leaseExpiry
  const [late] = of('TaskCancelled')
  t.equal(cause?.expiredAt, expiry)
  t.equal(cause?.silenceMs, expiry - (last?.at ?? granted.at))
  t.equal(cause?.lateMs, late === undefined ? undefined : late[1].at - expiry)
  t.equal(attempts[0]?.heartbeats.count, beats.length)
}

type Lease = { readonly leaseId: number }

/** The proof that a worker reported after another one got the task. */
function provedOf(first: Lease, second: Lease): string {
  return (
    `The log proves that worker w-7 kept running: it reported under lease ${first.leaseId} ` +
    `after that lease had expired and lease ${second.leaseId} of worker w-8 had been granted\\.`
  )
}

t.test('a worker stalls, and reports after another one got the task', async (t) => {
  const scene = await Scene.open(t)
  const [stalled, other] = [await scene.connect('w-7'), await scene.connect('w-8')]
  const taskId = await scene.submit()
  const first = await leaseFrom(stalled)
  await extend(scene, stalled, first)
  await scene.clock.advance(leaseMs)
  const second = await leaseFrom(other)
  await extend(scene, other, second)
  t.match(await stalled.request(reportOf(first)), { kind: 'cancelled' })
  t.match(await other.request(reportOf(second)), { kind: 'committed' })
  const told = await scene.explain(taskId)
  t.match(
    told.summary,
    new RegExp(
      `^Task ${taskId} ran twice because lease ${first.leaseId} of worker w-7 expired ${span} before its report arrived; ` +
        `its last heartbeat came 30\\.0 s before the expiry\\. ` +
        `Worker w-8 completed it under lease ${second.leaseId}\\. ${provedOf(first, second)}$`,
    ),
  )
  t.match(told.causes, [{ kind: 'REPORTED_LATE' }])
  t.match(told.overlaps, [{ leaseIds: [first.leaseId, second.leaseId], certain: true }])
  await checkNumbers(t, scene, told)
})

t.test('a worker crashes', async (t) => {
  const scene = await Scene.open(t)
  const other = await scene.connect('w-8')
  const taskId = await scene.submit()
  const args = [String(scene.port)]
  await new AppProcess(t, crashingWorker, { args, env: cleanEnvironment(process.env) }).exited
  await scene.clock.advance(leaseMs)
  const second = await leaseFrom(other)
  await other.request(reportOf(second))
  const told = await scene.explain(taskId)
  t.match(
    told.summary,
    new RegExp(
      `^Task ${taskId} ran twice because lease \\d+ of worker w-7 expired and no report came; ` +
        `no heartbeat extended it in the 30\\.0 s since its grant\\. Worker w-8 completed it under lease ${second.leaseId}\\. ` +
        'The log does not show whether worker w-7 kept running after lease \\d+ had expired: it has no report of that attempt\\.$',
    ),
  )
  t.match(told.overlaps, [{ certain: false }])
  await checkNumbers(t, scene, told)
})

t.test('the coordinator is down for longer than the lease', async (t) => {
  const scene = await Scene.open(t)
  const taskId = await scene.submit()
  const first = await leaseFrom(await scene.connect('w-7'))
  await scene.stop()
  await scene.clock.advance(leaseMs + 1)
  await scene.restart()
  const [late, other] = [await scene.connect('w-7'), await scene.connect('w-8')]
  const second = await leaseFrom(other)
  await late.request(reportOf(first))
  await other.request(reportOf(second))
  const told = await scene.explain(taskId)
  t.match(
    told.summary,
    new RegExp(
      `^Task ${taskId} ran twice because lease ${first.leaseId} of worker w-7 had expired ${span} before the coordinator started again ` +
        `\\(epoch 2\\), after up to ${span} of downtime; a report came ${span} after the expiry\\. Worker w-8 completed it`,
    ),
  )
  const { openings } = await scene.history()
  t.match(told.causes, [{ kind: 'COORDINATOR_DOWN', epoch: 2, startedAt: openings[1]?.at }])
  await checkNumbers(t, scene, told)
})

t.test('a connection is lost, and the report with it', async (t) => {
  const scene = await Scene.open(t)
  const proxy = await StallingProxy.open(t, scene.port)
  const [unheard, other] = [await scene.connect('w-7', proxy.port), await scene.connect('w-8')]
  const taskId = await scene.submit()
  const first = await leaseFrom(unheard)
  proxy.stall()
  const report = unheard.request(reportOf(first))
  proxy.disconnect()
  await t.rejects(report, { code: 'CLIENT_DISCONNECTED' })
  await scene.clock.advance(leaseMs)
  await other.request(reportOf(await leaseFrom(other)))
  const told = await scene.explain(taskId)
  t.match(
    told.summary,
    `Task ${taskId} ran twice because lease ${first.leaseId} of worker w-7 expired and no report came; no heartbeat`,
  )
  await checkNumbers(t, scene, told)
})

t.test('a connection stalls, and the report arrives late', async (t) => {
  const scene = await Scene.open(t)
  const proxy = await StallingProxy.open(t, scene.port)
  const [cutOff, other] = [await scene.connect('w-7', proxy.port), await scene.connect('w-8')]
  const taskId = await scene.submit()
  const first = await leaseFrom(cutOff)
  proxy.stall()
  const report = cutOff.request(reportOf(first))
  await scene.clock.advance(leaseMs)
  await other.request(reportOf(await leaseFrom(other)))
  proxy.resume()
  t.match(await report, { kind: 'cancelled' })
  const told = await scene.explain(taskId)
  t.match(
    told.summary,
    new RegExp(
      `^Task ${taskId} ran twice because lease ${first.leaseId} of worker w-7 expired ${span} before its report arrived; no heartbeat`,
    ),
  )
  await checkNumbers(t, scene, told)
})

t.test('the answer to a report is lost: the task ran once', async (t) => {
  const scene = await Scene.open(t)
  const proxy = await StallingProxy.open(t, scene.port)
  const worker = await scene.connect('w-7', proxy.port)
  const taskId = await scene.submit()
  const leased = await leaseFrom(worker)
  const lost = proxy.loseNextAnswer()
  const answered = worker.request(reportOf(leased), { retry: true })
  await lost
  t.match(await answered, { kind: 'committed' })
  const { summary, causes } = await scene.explain(taskId)
  t.match(
    summary,
    new RegExp(
      `^Task ${taskId} ran once: worker w-7 completed it ${span} after it was leased, and it was not leased again\\.$`,
    ),
  )
  t.strictSame(causes, [])
})

t.test('the execution window of an attempt ends', async (t) => {
  const scene = await Scene.open(t)
  const [slow, other] = [await scene.connect('w-7'), await scene.connect('w-8')]
  const taskId = await scene.submit({ executionWindowMs: 300 })
  const first = await leaseFrom(slow)
  await scene.clock.advance(300)
  const second = await leaseFrom(other)
  await slow.request(reportOf(first))
  await other.request(reportOf(second))
  const told = await scene.explain(taskId)
  t.match(
    told.summary,
    new RegExp(
      `^Task ${taskId} ran twice because the execution window of 300 ms ended under lease ${first.leaseId} of worker w-7, ` +
        `and its report came ${span} later\\. Worker w-8 completed it under lease ${second.leaseId}\\. ` +
        `${provedOf(first, second)}$`,
    ),
  )
  await checkNumbers(t, scene, told)
})

t.test('a failure is reported while retries are left', async (t) => {
  const scene = await Scene.open(t)
  const worker = await scene.connect('w-7')
  const backoff = { kind: 'fixed', delayMs: 30 } as const
  const taskId = await scene.submit({ retryPolicy: { maxRetries: 2, backoff } })
  const { leaseId } = await leaseFrom(worker)
  await worker.request({ kind: 'fail', taskId, leaseId, reason: 'no room' })
  await scene.clock.advance(30)
  const second = await leaseFrom(worker)
  await worker.request(reportOf(second))
  const { summary, attempts } = await scene.explain(taskId)
  t.equal(
    summary,
    `Task ${taskId} ran twice because worker w-7 reported a failure under lease ${leaseId} (“no room”): this is retry 1 of 2. ` +
      `Worker w-7 completed it under lease ${second.leaseId}.`,
  )
  const records = await readRecords(scene)
  const [failed] = [...records.values()].filter(({ type }) => type === 'TaskFailed')
  t.match(attempts[0]?.end, { backoffMs: 30, eligibleAt: failed!.at + 30 })
})

t.test('--from-memory marks the explanation as remembered', async (t) => {
  const scene = await Scene.open(t)
  const taskId = await scene.submit()
  const { stdout } = await scene.tenure('explain', String(taskId), '--from-memory')
  t.match(
    stdout.replaceAll('\n', ' '),
    /^Task 1 has not run: .* This comes from the coordinator's memory, which/,
  )
  const told = JSON.parse((await scene.tenure('explain', '1', '--from-memory', '--json')).stdout)
  t.match(told, { removed: {}, events: [{ remembered: true }] })
})

t.test('--at leaves out later events', async (t) => {
  const scene = await Scene.open(t)
  const worker = await scene.connect('w-7')
  const taskId = await scene.submit()
  await worker.request(reportOf(await leaseFrom(worker)))
  const online = await scene.tenure('explain', String(taskId), '--at', '2')
  t.match(online.stdout, /^As of LSN 2: Task 1 is leased for the first time\./)
  const log = await scene.tenure('explain', '--log', scene.dataDir, String(taskId), '--at', '2')
  t.equal(log.stdout, online.stdout)
})

t.test('an unknown task and contradictory flags are errors', async (t) => {
  const scene = await Scene.open(t)
  t.match(await scene.tenure('explain', '99'), {
    code: 1,
    stdout: '',
    stderr: /^tenure: task 99: it is unknown to the coordinator, whose log has no records of it;/,
  })
  t.match(await scene.tenure('explain', `${scene.dataDir}#99`), {
    code: 1,
    stderr: /^tenure: task 99: the log has no records of it;/,
  })
  t.match(await scene.tenure('explain', '/nowhere#99'), {
    code: 2,
    stderr: 'tenure: directory /nowhere does not exist; use the --data-dir of a coordinator\n',
  })
  t.match(await scene.tenure('explain', '99', '--from-memory'), {
    code: 1,
    stderr: /UNKNOWN_TASK/,
  })
  const twice = await scene.tenure('explain', `${scene.dataDir}#1`, '--log', scene.dataDir)
  t.match(twice, { code: 2, stderr: /two logs are given/ })
  const both = await scene.tenure('explain', '1', '--from-memory', '--at', '1')
  t.match(both, { code: 2, stderr: /--from-memory cannot be combined with a log or --at/ })
})
