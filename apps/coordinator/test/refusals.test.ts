import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type FailedAttempt, openLink } from '@tenure/client'
import { SmallDisk } from '@tenure/testing'
import t from 'tap'
import {
  CoordinatorProcess,
  fixture,
  makeDataDir,
  makeDirectory,
  runToEnd,
} from './coordinator-process.js'
import { connectOnce, connectTo } from './links.js'

const { start } = CoordinatorProcess
const submit = { kind: 'submit', payload: Buffer.from('work') } as const

t.test('a data directory in use is refused with exit code 4 and named', async (t) => {
  const dataDir = makeDataDir(t)
  await start(t, dataDir)
  const args = ['--data-dir', dataDir, '--port', '0', '--http-port', 'off']
  const [plain, pretty] = await Promise.all([
    runToEnd(t, args),
    runToEnd(t, [...args, '--log-pretty']),
  ])
  t.equal(plain.code, 4)
  t.match(plain.stdout, /"level":"fatal".*"code":"WAL_LOCKED".*startup failed: .*data is in use by/)
  t.equal(pretty.code, 4, 'readable log lines are not lost when it ends, either')
  t.match(pretty.stdout, /^\[[\d:.]+\] INFO: starting \{.*\}\n/)
  t.match(pretty.stdout, /FATAL: startup failed: .*is in use by process/)
  t.notOk(pretty.stdout.includes('\u001b'), 'no colours in a file')
})

t.test('a damaged log ends it with 3 and names a remedy, which works', async (t) => {
  const dataDir = makeDataDir(t)
  const { coordinator, port } = await start(t, dataDir)
  const link = await connectTo(t, port, 'producer')
  for (let count = 0; count < 5; count++) await link.request(submit)
  await link.close()
  await coordinator.stop()
  flipByte(dataDir, 600)
  const args = ['--data-dir', dataDir, '--port', '0', '--http-port', 'off']
  const { code, stdout } = await runToEnd(t, args)
  t.equal(code, 3)
  const [, place = ''] = /start with --accept-loss (\d+:\d+) to give up/.exec(stdout) ?? []
  t.match(stdout, /"level":"fatal".*"code":"WAL_CORRUPT"/)
  const [first = ''] = stdout.split('--accept-loss')
  t.match(first, `Run tenure log doctor ${dataDir} to see what each option would lose.`)
  const accepted = await start(t, dataDir, ['--accept-loss', place])
  t.match(accepted.started, { epoch: 2, tasks: 0 })
})

t.test('an unreadable checkpoint is logged at startup, which continues without it', async (t) => {
  const dataDir = makeDataDir(t)
  const { coordinator, port } = await start(t, dataDir)
  const link = await connectTo(t, port, 'admin')
  await link.request(submit)
  await link.request({ kind: 'checkpoint' })
  await link.close()
  await coordinator.stop()
  const [name = ''] = readdirSync(join(dataDir, 'checkpoint'))
  const path = join(dataDir, 'checkpoint', name)
  const bytes = readFileSync(path)
  bytes[600]! ^= 1
  writeFileSync(path, bytes)
  const again = await start(t, dataDir)
  t.match(again.started, { tasks: 1 })
  const warnings = again.coordinator.lines.filter(({ level }) => level === 'warn')
  t.match(warnings, [{ lsn: 1, why: /cannot be used/, msg: 'skipped an unreadable checkpoint' }])
})

t.test('a log that fails ends it with 1 and one fatal line', async (t) => {
  const dataDir = makeDataDir(t)
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

t.test('a port that is taken ends it with 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const args = ['--data-dir', makeDataDir(t), '--port', String(port), '--http-port', 'off']
  const { code, stdout } = await runToEnd(t, args)
  taken.close()
  t.equal(code, 1)
  t.match(stdout, /"code":"COORDINATOR_CANNOT_LISTEN".*EADDRINUSE.*another port/)
})

t.test('a configuration error ends it with 2 and one line', async (t) => {
  const said = async (args: string[], env = {}) => {
    const { code, stderr } = await runToEnd(t, args, env)
    t.equal(code, 2)
    t.equal(stderr.trimEnd().split('\n').length, 1)
    return stderr
  }
  t.match(await said(['--prot', '1']), /^tenure-coordinator: unknown flag --prot\./)
  const dataDir = makeDataDir(t)
  t.match(
    await said(['--data-dir', dataDir], { TENURE_HEARTBEAT_INTERVAL: '20s' }),
    /^tenure-coordinator: TENURE_HEARTBEAT_INTERVAL is 20000 ms; it must be at most half of --lease-duration: 15000 ms/,
  )
  t.match(
    await said(['--data-dir', fixture('tls.crt'), '--port', '0', '--http-port', 'off']),
    /tls\.crt is not a directory\. Choose a directory that contains a log; a new log needs one/,
  )
  t.notOk(existsSync(dataDir), 'and no file was created')
})

t.test('an unwritable directory ends it with 2, and names the flag', async (t) => {
  const disk = SmallDisk.mount(makeDirectory(t), 16)
  if (disk === undefined) return t.pass('this user may mount nothing')
  t.teardown(() => disk.unmount())
  mkdirSync(join(disk.path, 'old'))
  disk.protect()
  for (const name of ['old', 'new', 'new/and/deep']) {
    const dataDir = join(disk.path, name)
    const args = ['--data-dir', dataDir, '--port', '0', '--http-port', 'off']
    t.match(await runToEnd(t, args), {
      code: 2,
      stderr: `tenure-coordinator: ${dataDir} is not writable (EROFS). Make it writable for this user, or choose another directory with --data-dir.\n`,
    })
  }
  return
})

function flipByte(dataDir: string, offset: number): void {
  const [segment = ''] = readdirSync(join(dataDir, 'wal')).filter((name) => name.endsWith('.wal'))
  const path = join(dataDir, 'wal', segment)
  const bytes = readFileSync(path)
  bytes[offset]! ^= 1
  writeFileSync(path, bytes)
}

t.test('beyond loopback it listens only with TLS and tokens, or with --insecure', async (t) => {
  const dataDir = makeDataDir(t)
  const args = ['--data-dir', dataDir, '--host', '0.0.0.0', '--port', '0', '--http-port', 'off']
  const { code, stderr } = await runToEnd(t, args)
  t.equal(code, 2)
  t.match(
    stderr,
    /^tenure-coordinator: --host is 0\.0\.0\.0, which is reachable .*--tls-cert.*TENURE_TOKEN.*--insecure/,
  )
  const tls = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]
  t.match(await runToEnd(t, [...args, ...tls]), { code: 2 }, 'without a token')
  const hidden = await start(t, dataDir, ['--host', '0.0.0.0', ...tls], { TENURE_TOKEN: 'hush' })
  await hidden.coordinator.stop()
  await start(t, dataDir, ['--host', '0.0.0.0', '--insecure'])
})

t.test('TLS works, and requires a client certificate if a CA is set', async (t) => {
  const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(fixture(name), 'utf8'))
  const ca = cert!
  const args = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]
  const one = await start(t, makeDataDir(t), args)
  t.match((await connectTo(t, one.port, 'any', { tls: { ca } })).welcome, { version: 1 })
  const both = await start(t, makeDataDir(t), [...args, ...['--tls-client-ca', fixture('tls.crt')]])
  const own = { ca, cert: ca, key: key! }
  t.match((await connectTo(t, both.port, 'known', { tls: own })).welcome, { version: 1 })
  const enough = new AbortController()
  const attemptFailed = ({ error }: FailedAttempt) => enough.abort(error)
  const stranger = openLink(
    { endpoints: [`localhost:${both.port}`], tls: { ca }, observer: { attemptFailed } },
    enough,
  )
  await t.rejects(stranger, { cause: { code: 'CLIENT_DISCONNECTED' } }, 'without a certificate')
})

t.test('a token file is accepted, with a warning if other users can read it', async (t) => {
  const directory = makeDirectory(t)
  const tokenFile = join(directory, 'token')
  writeFileSync(tokenFile, 'hush-hush\n', { mode: 0o600 })
  const args = ['--token-file', tokenFile]
  const { coordinator, port } = await start(t, join(directory, 'data'), args)
  const knows = await connectTo(t, port, 'knows', { token: 'hush-hush' })
  t.match(knows.welcome, { version: 1 })
  const guesses = connectTo(t, port, 'guesses', { token: 'hush-hash' })
  await t.rejects(guesses, { message: /^UNAUTHORIZED/ })
  const refused = await coordinator.line('peer rejected')
  t.match(refused, { level: 'warn', address: '127.0.0.1', reason: 'UNAUTHORIZED' })
  await knows.close()
  await coordinator.stop()
  t.notMatch(coordinator.output, /hush|chmod/)
  chmodSync(tokenFile, 0o644)
  const again = await start(t, join(directory, 'data'), args)
  const [warning] = again.coordinator.lines
  t.match(warning, { level: 'warn', file: tokenFile, msg: /chmod 600/ })
})
