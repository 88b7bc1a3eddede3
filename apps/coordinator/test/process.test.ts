import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CoordinatorProcess, makeDataDir, runToEnd } from './coordinator-process.js'
import { connectTo } from './links.js'
import { RawPeer } from './raw-peer.js'

const { start } = CoordinatorProcess
const submit = { kind: 'submit', payload: Buffer.from('work') } as const

t.test('it starts, is ready, and a signal stops it', async (t) => {
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

t.test('the recovery that it tells begins with its process, and it counts restarts', async (t) => {
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

t.test('a signal that comes while it starts stops it, too', async (t) => {
  const args = ['--data-dir', makeDataDir(t), '--port', '0', '--http-port', 'off']
  const coordinator = new CoordinatorProcess(t, args)
  await coordinator.line('starting')
  coordinator.kill('SIGINT')
  t.match(await coordinator.exited, { code: 0 })
  t.equal(coordinator.lines.at(-1)?.msg, 'stopped')
})

t.test('a second signal ends it at once', async (t) => {
  for (const [signal, code] of [['SIGTERM', 143] as const, ['SIGINT', 130] as const]) {
    const { coordinator, port } = await start(t, makeDataDir(t))
    // Somebody who keeps their half of a connection open holds the first one up for a while.
    const peer = await RawPeer.open(port, 'slow', { allowHalfOpen: true })
    coordinator.kill('SIGTERM')
    await coordinator.line('stopping')
    coordinator.kill(signal)
    t.match(await coordinator.exited, { code })
    t.equal(coordinator.lines.at(-1)?.msg, 'stopping')
    peer.close()
  }
})

t.test('after SIGKILL it goes on with what it had, in the next epoch', async (t) => {
  const dataDir = makeDataDir(t)
  const first = await start(t, dataDir)
  const link = await connectTo(t, first.port, 'producer')
  t.match(await link.request(submit), { kind: 'submitted', taskId: 1 })
  first.coordinator.kill('SIGKILL')
  await first.coordinator.exited
  const second = await start(t, dataDir)
  t.same(second.started, { epoch: 2, lastLsn: 1, replayed: 1, tasks: 1 })
})

t.test('it says what it can do, what it is, and what it would do, and ends with 0', async (t) => {
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
