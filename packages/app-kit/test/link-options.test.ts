import { connect } from '@tenure/client'
import t from 'tap'
import {
  type ConnectionConfiguration,
  configure,
  connectionSettings,
  defineCommand,
  type Environment,
  toLinkOptions,
} from '../src/index.js'
import { exposedSecrets } from '../src/sources/secrets.js'
import { file, fixture, refusal } from './world.js'

const caller = defineCommand({
  name: 'call',
  version: '1.2.3',
  summary: 'Calls.',
  settings: connectionSettings,
  prepare: (configuration) => {
    toLinkOptions(configuration)
    return async () => 0
  },
})

const settle = (args: string[], env: Environment = {}): ConnectionConfiguration =>
  configure(caller, args, env)
const optionsOf = (args: string[], env?: Environment) => toLinkOptions(settle(args, env))
const said = (args: string[], env?: Environment) => refusal(() => optionsOf(args, env))
const own = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]

t.test(
  'without a word the coordinator of this machine is meant, without TLS and token',
  async (t) => {
    t.same(optionsOf([]), { endpoints: ['127.0.0.1:7411'] })
  },
)

t.test('several endpoints are tried in turn', async (t) => {
  const endpoints = ['a:1', 'b', '[::1]:7411']
  t.same(optionsOf(['--coordinator', 'a:1, b,[::1]:7411']), { endpoints })
  t.same(optionsOf([], { TENURE_COORDINATOR: 'a:1,b,[::1]:7411' }), { endpoints })
  for (const bad of ['', 'a,', 'a:0', 'a:65536', 'http://a', '::1']) {
    const message = said([`--coordinator=${bad}`])
    t.ok(message.startsWith(`--coordinator is "${bad}"; it must be like host:7411, `), message)
  }
})

t.test(
  'the address of a coordinator that holds a secret is refused without repeating it',
  async (t) => {
    for (const bad of ['tcp://me:hush@a:1', 'hush@a', 'a,me:hush,hush@b:1', 'a:1/?token=hush']) {
      const message = said([], { TENURE_COORDINATOR: bad })
      t.match(
        message,
        /^TENURE_COORDINATOR is a URL with credentials or a query; it must be like host:7411/,
      )
      t.notMatch(message, /hush/)
    }
  },
)

t.test('the token comes from the environment or a file, never from a flag', async (t) => {
  const path = file(t, 'token', 'hush\n')
  t.equal(optionsOf([], { TENURE_TOKEN: 'hush' }).token, 'hush')
  t.equal(optionsOf(['--token-file', path]).token, 'hush')
  t.match(said(['--token', 'hush']), /^--token would be seen by others: set TENURE_TOKEN/)
  t.notMatch(said(['--token', 'hush']), /hush/)
  t.equal(
    said(['--token-file', path], { TENURE_TOKEN: 'hush' }),
    'TENURE_TOKEN and --token-file are both set; give one of them',
  )
  t.match(
    said(['--token-file', 'hush']),
    /^--token-file names a file that does not exist; it must name the file that holds the secret/,
  )
  t.match(
    said(['--token-file', file(t, 'e', '\n')]),
    /--token-file names .*, which is no token; .* 1 to 1024 bytes/,
  )
  t.match(said([], { TENURE_TOKEN: 'x'.repeat(1025) }), /^TENURE_TOKEN is no token;/)
})

t.test('--tls trusts the authorities of Node, --tls-ca another one', async (t) => {
  t.equal(optionsOf(['--tls']).tls, true)
  t.match(optionsOf(['--tls-ca', fixture('tls.crt')]).tls, { ca: /BEGIN CERTIFICATE/ })
  t.match(
    said(['--tls-ca', fixture('tls.key')]),
    /--tls-ca names .*tls\.key, which is no certificate/,
  )
})

t.test('a certificate of our own comes with its key', async (t) => {
  t.match(optionsOf(own).tls, { cert: /BEGIN CERTIFICATE/, key: /PRIVATE KEY/, ca: undefined })
  t.equal(said(own.slice(0, 2)), '--tls-cert: a certificate needs both --tls-cert and --tls-key')
  t.match(said([], { TENURE_TLS_KEY_PASSPHRASE: 'hush' }), /^TENURE_TLS_KEY_PASSPHRASE: a cert/)
  const swapped = ['--tls-cert', fixture('tls.key'), '--tls-key', fixture('tls.crt')]
  t.match(
    said(swapped),
    /--tls-cert and --tls-key name .*tls\.key and .*tls\.crt, which are no certificate/,
  )
})

t.test('a key that is encrypted opens with its passphrase only', async (t) => {
  const args = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('encrypted.key')]
  t.match(said(args), /are no certificate with its key/)
  t.match(said(args, { TENURE_TLS_KEY_PASSPHRASE: 'wrong' }), /are no certificate with its key/)
  const { tls } = optionsOf(args, { TENURE_TLS_KEY_PASSPHRASE: 'hush' })
  t.match(tls, { passphrase: 'hush', key: /ENCRYPTED PRIVATE KEY/ })
})

t.test('no TLS and what needs it contradict each other', async (t) => {
  const needy = ['--tls=false', '--tls-servername', 'c.example']
  t.equal(said(needy), '--tls is false, and --tls-servername needs TLS; leave one out')
  t.match(optionsOf(needy.slice(1)).tls, { servername: 'c.example' })
  t.equal(optionsOf(['--tls=false'], { TENURE_TLS: 'true' }).tls, undefined)
})

t.test('files with the token and the key are files with secrets', async (t) => {
  const path = file(t, 'token', 'hush')
  t.same(exposedSecrets(settle(['--token-file', path])), [])
  const secrets = [...settle([]).settings].filter(([, { isSecretFile }]) => isSecretFile)
  t.same(
    secrets.map(([name]) => name),
    ['tokenFile', 'tlsKey'],
  )
})

t.test('the client accepts whatever comes of it', async (t) => {
  const args = ['--coordinator', '127.0.0.1:1', '--tls-ca', fixture('tls.crt'), ...own]
  const options = optionsOf([...args, '--tls-servername', 'x'], { TENURE_TOKEN: 'hush' })
  const backoff = { initialMs: 1, maxMs: 1 }
  // Nobody listens there; what it could not accept would be CLIENT_BAD_ARGUMENT.
  await t.rejects(connect({ ...options, backoff, connectTimeoutMs: 20 }), {
    code: 'CLIENT_UNREACHABLE',
  })
})
