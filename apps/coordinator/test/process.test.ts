import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { SimulatedClock } from '@tenure/testing'
import { type Logger, pino } from 'pino'
import t from 'tap'
import { observeLog, observeServer } from '../src/events.js'
import { CoordinatorProcess, makeDataDir, runToEnd } from './coordinator-process.js'
import { connectTo } from './links.js'
import { RawPeer } from './raw-peer.js'

const { start } = CoordinatorProcess
const submit = { kind: 'submit', payload: Buffer.from('work') } as const

t.test('it starts, becomes ready, and stops on a signal', async (t) => {
  const dataDir = makeDataDir(t)
  const { coordinator, httpPort, started } = await start(t, dataDir)
  t.same(started, { epoch: 1, lastLsn: 0, replayed: 0, tasks: 0 })
  t.equal((await fetch(`http://127.0.0.1:${httpPort}/readyz`)).status, 200)
  coordinator.kill('SIGTERM')
  t.match(await coordinator.exited, { code: 0, stderr: '' })
  t.same(
    coordinator.lines.map((line) => line.msg),
    ['starting', 'started', 'stopping', 'stopped'],
  )
  t.match(coordinator.lines[0], { level: 'info', dataDir, node: process.version, protocol: 1 })
  t.match(coordinator.lines[2], { signal: 'SIGTERM' })
})

t.test('the reported recovery starts with the process, and restarts are counted', async (t) => {
  const dataDir = makeDataDir(t)
  for (const restarts of [0, 1]) {
    const { coordinator, httpPort } = await start(t, dataDir)
    const [starting, started] = coordinator.lines
    t.match(started, {
      msg: 'started',
      restarts,
      openMs: Number,
      replayMs: Number,
      expiryMs: Number,
    })
    const begunAt = Date.parse(started!.time) - Number(started!.recoveryMs)
    t.ok(begunAt < Date.parse(starting!.time), 'before the first line')
    const ready = await (await fetch(`http://127.0.0.1:${httpPort}/readyz`)).json()
    t.equal(Math.round((ready as { recoveryMs: number }).recoveryMs), started!.recoveryMs)
    coordinator.kill('SIGKILL')
    await coordinator.exited
  }
})

t.test('a signal during startup also stops it', async (t) => {
  const args = ['--data-dir', makeDataDir(t), '--port', '0', '--http-port', 'off']
  const coordinator = new CoordinatorProcess(t, args)
  await coordinator.line('starting')
  coordinator.kill('SIGINT')
  t.match(await coordinator.exited, { code: 0 })
  t.equal(coordinator.lines.at(-1)?.msg, 'stopped')
})

t.test('a second signal ends it immediately', async (t) => {
  for (const [signal, code] of [['SIGTERM', 143] as const, ['SIGINT', 130] as const]) {
    const { coordinator, port } = await start(t, makeDataDir(t))
    // A client that keeps its half of a connection open delays the shutdown.
    const peer = await RawPeer.open(port, 'slow', { allowHalfOpen: true })
    coordinator.kill('SIGTERM')
    await coordinator.line('stopping')
    coordinator.kill(signal)
    t.match(await coordinator.exited, { code })
    t.equal(coordinator.lines.at(-1)?.msg, 'stopping')
    peer.close()
  }
})

t.test('after SIGKILL it continues with its log, in the next epoch', async (t) => {
  const dataDir = makeDataDir(t)
  const first = await start(t, dataDir)
  const link = await connectTo(t, first.port, 'producer')
  t.match(await link.request(submit), { kind: 'submitted', taskId: 1 })
  first.coordinator.kill('SIGKILL')
  await first.coordinator.exited
  const second = await start(t, dataDir)
  t.same(second.started, { epoch: 2, lastLsn: 1, replayed: 1, tasks: 1 })
})

t.test('--help, --version and --print-config print and exit with 0', async (t) => {
  const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
  const run = (...args: string[]) => runToEnd(t, args, { TENURE_TOKEN: 'hush' })
  const [help, shown, own] = await Promise.all([
    run('--help'),
    run('--print-config', '--lease-duration', '1m'),
    run('--version'),
  ])
  t.match(help, { code: 0, stdout: /^Usage: tenure-coordinator \[flags\]\n/, stderr: '' })
  t.match(shown, { code: 0, stdout: /^lease-duration +1m +--lease-duration$/m, stderr: '' })
  t.match(shown.stdout, /^token +set +TENURE_TOKEN$/m)
  t.same(own, { code: 0, stdout: `${JSON.parse(manifest).version}\n`, stderr: '' })
})

function listen() {
  const lines: Record<string, unknown>[] = []
  const options = { base: null, timestamp: false }
  const write = (line: string) => void lines.push(JSON.parse(line))
  const logger: Logger = pino(options, { write })
  const clock = new SimulatedClock()
  return { lines, server: observeServer(logger, clock), log: observeLog(logger), clock }
}

const refusal = { address: '10.0.0.1', reason: 'PROTOCOL', message: 'a \u001b[31mword\nof theirs' }

t.test('replay logs rate, progress and remaining time once a second', async (t) => {
  const { lines, server } = listen()
  for (const ms of [10, 900, 1100, 1500, 2000, 2200]) {
    server.replaying?.({ applied: ms * 100, total: 1_000_000, ms })
  }
  t.same(lines, [
    ...[{ level: 30, recordsPerSecond: 100_000, percent: 11, secondsLeft: 9, msg: 'replaying' }],
    ...[{ level: 30, recordsPerSecond: 100_000, percent: 22, secondsLeft: 8, msg: 'replaying' }],
  ])
})

t.test('ten rejected peers a second are logged, the others are counted', async (t) => {
  const { lines, server, clock } = listen()
  for (let count = 0; count < 25; count++) server.refused?.(refusal)
  t.equal(lines.length, 10)
  const { address, reason, message: detail } = refusal
  t.same(lines[0], { level: 40, address, reason, detail, msg: 'peer rejected' })
  await clock.advance(1000)
  t.same(lines.slice(10), [{ level: 40, leftOut: 15, msg: 'more peers rejected' }])
  server.refused?.(refusal)
  t.equal(lines.length, 12)
  await clock.advance(1000)
  t.equal(lines.length, 12, 'nothing was left out, so nothing is logged')
})

t.test('a limit of open files below --connections-max is logged', async (t) => {
  const { lines, server } = listen()
  server.fewerConnections?.(3896)
  t.match(lines, [{ level: 40, connectionsMax: 3896, msg: /ulimit -n/ }])
})

t.test('a clock that is far ahead of the last time in the log is logged', async (t) => {
  const { lines, server } = listen()
  server.clockAhead?.(30 * 3_600_000)
  t.match(lines, [{ level: 40, aheadHours: 30, msg: /more than a day ahead/ }])
})

t.test('a clock behind the log is logged with the difference and where to read on', async (t) => {
  const { lines, server } = listen()
  server.clockBehind?.(172_800_499)
  t.match(lines, [{ level: 40, behindSeconds: 172_800, see: /operations/, msg: /clock is behind/ }])
})

t.test('the startup line has the recovery time and its parts in whole milliseconds', async (t) => {
  const { lines, server } = listen()
  const facts = {
    port: 7411,
    httpPort: 7412,
    epoch: 5,
    restarts: 2,
    lastLsn: 9,
    replayed: 3,
    tasks: 1,
  }
  const parts = { openMs: 100.4, replayMs: 200.6, checkpointMs: 0, expiryMs: 7.5 }
  server.started?.({ ...facts, ...parts, recoveryMs: 896.2 })
  const rounded = { recoveryMs: 896, openMs: 100, replayMs: 201, checkpointMs: 0, expiryMs: 8 }
  t.same(lines, [{ level: 30, ...facts, ...rounded, msg: 'started' }])
})

t.test('skipped parts of a log are logged, and nothing for an intact log', async (t) => {
  const { lines, server } = listen()
  const whole = { badCheckpoints: [], strandedSegments: [], tornTail: undefined }
  server.recovered?.(whole)
  t.same(lines, [])
  server.recovered?.({ ...whole, badCheckpoints: [{ lsn: 17, why: 'it breaks off' }] })
  server.recovered?.({ ...whole, strandedSegments: ['0000000000000001-00000001.wal'] })
  server.recovered?.({ ...whole, tornTail: 'the header is missing' })
  t.match(lines, [
    { level: 40, lsn: 17, why: 'it breaks off', msg: 'skipped an unreadable checkpoint' },
    { level: 40, segment: '0000000000000001-00000001.wal', msg: /^segment is not linked/ },
    { level: 40, why: 'the header is missing', msg: /^removed an incomplete write/ },
  ])
})

t.test('a full disk is logged, and that it has space again', async (t) => {
  const { lines, log } = listen()
  log.spaceChanged?.(true)
  log.spaceChanged?.(false)
  t.match(lines, [
    { level: 50, msg: /^disk full/ },
    { level: 30, msg: 'disk has space again' },
  ])
})

const root = join(import.meta.dirname, '../../../..')
const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
const alerts = readFileSync(join(root, 'deploy/alerts.yml'), 'utf8')

/** Anything in the guide or the alert rules that looks like one of our metrics or flags. */
const metricsIn = (text: string) => new Set(text.match(/\btenure_[a-z_]+\b/g))
const flagsIn = (text: string) => new Set(text.match(/(?<=`)--[a-z-]+(?=`)/g))

t.test(
  'the operations guide and the alerts name existing metrics, and the guide names all',
  async (t) => {
    const { coordinator, httpPort } = await CoordinatorProcess.start(t, makeDataDir(t))
    const text = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
    const metrics = new Set(text.match(/(?<=^# TYPE )\S+/gm))
    const named = [...metricsIn(page), ...metricsIn(alerts)]
    const unknown = named.filter((name) => !metrics.has(name.replace(/_(bucket|count|sum)$/, '')))
    t.same(unknown, [])
    const ownNames = [...metrics].filter((name) => !/^tenure_(process|nodejs)_/.test(name))
    t.same(
      ownNames.filter((name) => !metricsIn(page).has(name)),
      [],
    )
    await coordinator.stop()
  },
)

t.test('the HTTP port answers under the allowed names, and under no other', async (t) => {
  const args = ['--http-allowed-hosts', 'tenure.example']
  const { coordinator, httpPort } = await CoordinatorProcess.start(t, makeDataDir(t), args)
  for (const [host, status] of [
    ['tenure.example:7412', 200],
    ['evil.example', 421],
  ] as const) {
    const asked = get({
      host: '127.0.0.1',
      port: Number(httpPort),
      path: '/readyz',
      headers: { host },
    })
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    response.resume()
    t.equal(response.statusCode, status, host)
  }
  await coordinator.stop()
})

t.test('every alert has a row in the operations guide', (t) => {
  const names = alerts.match(/(?<=alert: )\w+/g) ?? []
  t.ok(names.length > 10)
  t.same(
    names.filter((name) => !page.includes(`| ${name}`) && !page.includes(`, ${name} |`)),
    [],
  )
  t.end()
})

t.test('the settings recommended in the operations guide exist', async (t) => {
  const { stdout: help } = await runToEnd(t, ['--help'])
  const table = page.slice(page.indexOf('## What to set'), page.indexOf('## What to watch'))
  const flags = [...flagsIn(table)].filter((flag) => flag !== '--print-config')
  t.ok(flags.length > 10)
  t.same(
    flags.filter((flag) => !help.includes(`  ${flag} `)),
    [],
  )
})
