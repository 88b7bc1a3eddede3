import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FailedAttempt, openLink } from '@tenure/client'
import t from 'tap'
import {
  CoordinatorProcess,
  fixture,
  makeDataDir,
  makeDirectory,
  runToEnd,
} from './coordinator-process.js'
import { connectTo } from './links.js'

const { start } = CoordinatorProcess

t.test('beyond this machine it listens only with TLS and tokens, or when told so', async (t) => {
  const dataDir = makeDataDir(t)
  const args = ['--data-dir', dataDir, '--host', '0.0.0.0', '--port', '0', '--http-port', 'off']
  const { code, stderr } = await runToEnd(t, args)
  t.equal(code, 2)
  t.match(stderr, /^tenure-coordinator: host is 0\.0\.0\.0, .*--tls-cert.*TENURE_TOKEN.*--insecure/)
  const tls = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]
  t.match(await runToEnd(t, [...args, ...tls]), { code: 2 }, 'without a token')
  const hidden = await start(t, dataDir, ['--host', '0.0.0.0', ...tls], { TENURE_TOKEN: 'hush' })
  await hidden.coordinator.stop()
  await start(t, dataDir, ['--host', '0.0.0.0', '--insecure'])
})

t.test('TLS serves, and asks for a certificate where there is an authority for it', async (t) => {
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

t.test('a token file opens the door; one that others can read is warned of', async (t) => {
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
})
