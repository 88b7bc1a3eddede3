import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type FailedAttempt, openLink } from '@tenure/client'
import t, { type Test } from 'tap'
import { CoordinatorProcess, fixture, makeDirectory, runToEnd } from './coordinator-process.js'
import { connectOnce, connectTo } from './links.js'
import { RawPeer } from './raw-peer.js'

const { start } = CoordinatorProcess
const dataDirOf = (t: Test) => join(makeDirectory(t), 'data')
const submit = { kind: 'submit', payload: Buffer.from('work') } as const

// Each test waits for its own process, so they may run beside each other.
t.jobs = 4
const together = { buffered: true }

t.test('it starts, is ready, and a signal stops it', together, async (t) => {
  const dataDir = dataDirOf(t)
  const { coordinator, httpPort, started } = await start(t, dataDir)
  t.same(started, { epoch: 1, records: 0, tasks: 0 })
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

t.test('a signal that comes while it starts stops it, too', together, async (t) => {
  const args = ['--data-dir', dataDirOf(t), '--port', '0', '--http-port', 'off']
  const coordinator = new CoordinatorProcess(t, args)
  await coordinator.line('starting')
  coordinator.kill('SIGINT')
  t.match(await coordinator.exited, { code: 0 })
  t.equal(coordinator.lines.at(-1)?.msg, 'stopped')
})

t.test('a second signal ends it at once', together, async (t) => {
  for (const [signal, code] of [['SIGTERM', 143] as const, ['SIGINT', 130] as const]) {
    const { coordinator, port } = await start(t, dataDirOf(t))
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

t.test('after SIGKILL it goes on with what it had, in the next epoch', together, async (t) => {
  const dataDir = dataDirOf(t)
  const first = await start(t, dataDir)
  const link = await connectTo(t, first.port, 'producer')
  t.match(await link.request(submit), { kind: 'submitted', taskId: 1 })
  first.coordinator.kill('SIGKILL')
  await first.coordinator.exited
  const second = await start(t, dataDir)
  t.same(second.started, { epoch: 2, records: 1, tasks: 1 })
})

t.test('a data directory that is in use is refused with 4, and named', together, async (t) => {
  const dataDir = dataDirOf(t)
  await start(t, dataDir)
  const args = ['--data-dir', dataDir, '--http-port', 'off']
  const [plain, pretty] = await Promise.all([
    runToEnd(t, args),
    runToEnd(t, [...args, '--log-pretty']),
  ])
  t.equal(plain.code, 4)
  t.match(plain.stdout, /"level":"fatal".*"code":"WAL_LOCKED".*not started: .*data is in use by/)
  t.equal(pretty.code, 4, 'lines for people are not lost when it ends, either')
  t.match(pretty.stdout, /^\[[\d:.]+\] INFO: starting\n/)
  t.match(pretty.stdout, /FATAL: not started: .*is in use by process/)
  t.notOk(pretty.stdout.includes('\u001b'), 'no colours in a file')
})

t.test(
  'beyond this machine it listens only with TLS and tokens, or when told so',
  together,
  async (t) => {
    const dataDir = dataDirOf(t)
    const args = ['--data-dir', dataDir, '--host', '0.0.0.0', '--port', '0', '--http-port', 'off']
    const { code, stderr } = await runToEnd(t, args)
    t.equal(code, 2)
    t.match(
      stderr,
      /^tenure-coordinator: host is 0\.0\.0\.0, .*--tls-cert.*TENURE_TOKEN.*--insecure/,
    )
    const tls = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]
    t.match(await runToEnd(t, [...args, ...tls]), { code: 2 }, 'without a token')
    const hidden = await start(t, dataDir, ['--host', '0.0.0.0', ...tls], { TENURE_TOKEN: 'hush' })
    await hidden.coordinator.stop()
    await start(t, dataDir, ['--host', '0.0.0.0', '--insecure'])
  },
)

t.test(
  'TLS serves, and asks for a certificate where there is an authority for it',
  together,
  async (t) => {
    const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(fixture(name), 'utf8'))
    const ca = cert!
    const args = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]
    const one = await start(t, dataDirOf(t), args)
    t.match((await connectTo(t, one.port, 'any', { tls: { ca } })).welcome, { version: 1 })
    const both = await start(t, dataDirOf(t), [...args, ...['--tls-client-ca', fixture('tls.crt')]])
    const own = { ca, cert: ca, key: key! }
    t.match((await connectTo(t, both.port, 'known', { tls: own })).welcome, { version: 1 })
    const enough = new AbortController()
    const attemptFailed = ({ error }: FailedAttempt) => enough.abort(error)
    const stranger = openLink(
      { endpoints: [`localhost:${both.port}`], tls: { ca }, observer: { attemptFailed } },
      enough,
    )
    await t.rejects(stranger, { cause: { code: 'CLIENT_DISCONNECTED' } }, 'without a certificate')
  },
)

t.test(
  'a token file opens the door; one that others can read is warned of',
  together,
  async (t) => {
    const directory = makeDirectory(t)
    const tokenFile = join(directory, 'token')
    writeFileSync(tokenFile, 'hush-hush\n', { mode: 0o600 })
    const args = ['--token-file', tokenFile]
    const { coordinator, port } = await start(t, join(directory, 'data'), args)
    const knows = await connectTo(t, port, 'knows', { token: 'hush-hush' })
    t.match(knows.welcome, { version: 1 })
    const guesses = connectTo(t, port, 'guesses', { token: 'hush-hash' })
    await t.rejects(guesses, { message: /^UNAUTHORIZED/ })
    const refused = await coordinator.line('peer refused')
    t.match(refused, { level: 'warn', address: '127.0.0.1', reason: 'UNAUTHORIZED' })
    await knows.close()
    await coordinator.stop()
    t.notMatch(coordinator.output, /hush|chmod/)
    chmodSync(tokenFile, 0o644)
    const again = await start(t, join(directory, 'data'), args)
    const [warning] = again.coordinator.lines
    t.match(warning, { level: 'warn', file: tokenFile, msg: /chmod 600/ })
  },
)

t.test('a damaged log is refused with 3 and the way out, which works', together, async (t) => {
  const dataDir = dataDirOf(t)
  const { coordinator, port } = await start(t, dataDir)
  const link = await connectTo(t, port, 'producer')
  for (let count = 0; count < 5; count++) await link.request(submit)
  await link.close()
  await coordinator.stop()
  flipByte(dataDir, 600)
  const { code, stdout } = await runToEnd(t, ['--data-dir', dataDir, '--http-port', 'off'])
  t.equal(code, 3)
  const [, place = ''] = /start with --accept-loss (\d+:\d+) to go on/.exec(stdout) ?? []
  t.match(stdout, /"level":"fatal".*"code":"WAL_CORRUPT"/)
  const accepted = await start(t, dataDir, ['--accept-loss', place])
  t.match(accepted.started, { epoch: 2, tasks: 0 })
})

t.test('a log that fails ends it with 1 and one fatal line', together, async (t) => {
  const dataDir = dataDirOf(t)
  const { coordinator, port } = await start(t, dataDir, ['--segment-bytes', '1MiB'])
  const link = await connectOnce(t, port, 'producer')
  // Without HEAD the next segment cannot be named: another writer may have the log.
  rmSync(join(dataDir, 'HEAD'))
  const payload = Buffer.alloc(200 * 1024)
  const untilItFails = async () => {
    for (;;) await link.request({ ...submit, payload })
  }
  await t.rejects(untilItFails(), { name: 'TenureError' })
  t.match(await coordinator.exited, { code: 1 })
  const fatal = coordinator.lines.filter(({ level }) => level === 'fatal')
  t.match(fatal, [{ msg: /^log failed: /, code: /^WAL_/ }])
  t.equal(fatal.length, 1)
})

t.test('a port that is taken ends it with 1', together, async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const args = ['--data-dir', dataDirOf(t), '--port', String(port), '--http-port', 'off']
  const { code, stdout } = await runToEnd(t, args)
  taken.close()
  t.equal(code, 1)
  t.match(stdout, /"code":"COORDINATOR_CANNOT_LISTEN".*EADDRINUSE/)
})

t.test('what is configured wrongly ends it with 2 and one line', together, async (t) => {
  const said = async (args: string[], env = {}) => {
    const { code, stderr } = await runToEnd(t, args, env)
    t.equal(code, 2)
    t.equal(stderr.trimEnd().split('\n').length, 1)
    return stderr
  }
  t.match(await said(['--prot', '1']), /^tenure-coordinator: --prot is no flag/)
  const dataDir = dataDirOf(t)
  t.match(
    await said(['--data-dir', dataDir], { TENURE_HEARTBEAT_INTERVAL: '20s' }),
    /^tenure-coordinator: TENURE_HEARTBEAT_INTERVAL is 20000; it must be at most half of --lease-duration/,
  )
  t.match(await said(['--data-dir', fixture('tls.crt')]), /tls\.crt is no directory/)
  t.notOk(existsSync(dataDir), 'and nothing was made')
})

t.test(
  'it says what it can do, what it is, and what it would do, and ends with 0',
  together,
  async (t) => {
    const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
    const run = (...args: string[]) => runToEnd(t, args, { TENURE_TOKEN: 'hush' })
    const [help, shown, own] = await Promise.all([
      run('--help'),
      run('--print-config', '--lease-duration', '1m'),
      run('--version'),
    ])
    t.match(help, { code: 0, stdout: /^tenure-coordinator \[flags\]\n/, stderr: '' })
    t.match(shown, { code: 0, stdout: /^lease-duration +1m +--lease-duration$/m, stderr: '' })
    t.match(shown.stdout, /^token +set +TENURE_TOKEN$/m)
    t.same(own, { code: 0, stdout: `${JSON.parse(manifest).version}\n`, stderr: '' })
  },
)

function flipByte(dataDir: string, offset: number): void {
  const [segment = ''] = readdirSync(join(dataDir, 'wal')).filter((name) => name.endsWith('.wal'))
  const path = join(dataDir, 'wal', segment)
  const bytes = readFileSync(path)
  bytes[offset]! ^= 1
  writeFileSync(path, bytes)
}
