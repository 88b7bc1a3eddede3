import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  byName,
  bytes,
  ConfigError,
  configure,
  duration,
  flagOf,
  runCommand,
  variableOf,
  whole,
} from '@tenure/app-kit'
import { startCoordinator } from '@tenure/coordinator-server'
import { defaultKnobs, defaultLimits } from '@tenure/coordinator-server/internal'
import t, { type Test } from 'tap'
import { toOptions } from '../src/options.js'
import { command } from '../src/program.js'
import { settings } from '../src/settings.js'
import { fixture } from './coordinator-process.js'

// app-kit parses values and tests that; these tests are about the coordinator's own table.

const all = [...byName(settings)]

function configureWith(args: string[], env: Record<string, string> = {}) {
  return configure(command, args, env)
}

function file(t: Test, name: string, content: unknown): string {
  const path = join(t.testdir(), name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

/** The only message of a configuration error. */
function refusal(args: string[], env: Record<string, string> = {}): string {
  try {
    toOptions(configureWith(args, env))
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return 'it was accepted'
}

t.test('without settings the coordinator uses its own defaults', async (t) => {
  t.match(toOptions(configureWith([])), { knobs: defaultKnobs, limits: defaultLimits })
})

t.test('the defaults in the operations guide are those of the settings', (t) => {
  const guide = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8')
  const [, told = ''] = /^## What to set$(.*?)^## /ms.exec(guide) ?? []
  const rows = [...told.matchAll(/^\| (`--[^|]*) \| ([^|]*) \|/gm)]
  t.ok(rows.length > 8)
  for (const [, flags = '', defaults = ''] of rows) {
    const values = defaults.split(/, /)
    for (const [index, flag] of flags.split(', ').entries()) {
      const [, { kind, fallback }] = all.find(([name]) => flagOf(name) === flag.slice(1, -1))!
      const value = values[index]!.replaceAll(',', '')
      // A setting derived from another one has no default of its own.
      if (fallback !== undefined) t.equal(kind.parse(value), fallback, flag)
    }
  }
  t.end()
})

t.test('each setting reaches its option', async (t) => {
  const other: Record<string, string> = {
    sync: 'none',
    heartbeatInterval: '7s',
    acceptLoss: '3:512',
    restored: '99',
    httpAllowedHosts: 'metrics.example,b',
  }
  for (const [name, { option, kind, fallback }] of all) {
    if (option === undefined) continue
    const text = other[name] ?? kind.format(Number(fallback) * 2)
    const options = toOptions(configureWith([flagOf(name), text]))
    const path = option.replace(/^options\b/, 'log').split('.')
    const reached = path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], options)
    const expected = name === 'restored' ? { nextLsn: 99 } : kind.parse(text)
    t.same(reached, expected, `${flagOf(name)} ${text} is ${option}`)
  }
})

t.test('by default the heartbeat interval is a third of the lease duration', async (t) => {
  const intervalOf = (...args: string[]) =>
    toOptions(configureWith(args)).knobs?.heartbeatIntervalMs
  t.equal(intervalOf('--lease-duration', '5s'), 1666)
  t.equal(intervalOf('--lease-duration', '10ms'), 3)
  t.equal(intervalOf('--lease-duration', '5s', '--heartbeat-interval', '1s'), 1000)
})

t.test('an exponential backoff takes its delay and its maximum', async (t) => {
  const args = ['--backoff', 'exponential', '--backoff-delay', '1.5s', '--backoff-max', '2m']
  t.same(toOptions(configureWith(args)).knobs?.retryPolicy, {
    maxRetries: 3,
    backoff: { kind: 'exponential', initialMs: 1500, maxMs: 120_000 },
  })
  t.match(toOptions(configureWith(['--backoff-delay', '0'])).knobs, {
    retryPolicy: { backoff: { kind: 'fixed', delayMs: 0 } },
  })
})

t.test('settings that are not numbers reach the coordinator, too', async (t) => {
  const args = ['--data-dir', 'd', '--host', 'h', '--http-host', 'i', '--insecure']
  const ports = ['--port', '0', '--http-port', 'off', '--restored', 'true']
  t.match(toOptions(configureWith([...args, ...ports])), {
    dataDir: 'd',
    host: 'h',
    httpHost: 'i',
    insecure: true,
    port: 0,
    httpPort: false,
    log: { restored: true },
  })
})

t.test('the ranges are those of the coordinator', async (t) => {
  for (const [name, { option = '', kind }] of all) {
    const [part = '', ...path] = option.split('.')
    if (path.length !== 1 || part === 'options') continue
    const options = { httpPort: false, [part]: { [path[0]!]: Number.NaN } } as const
    const message: string = await startCoordinator(options).then(
      () => 'accepted',
      (error) => error.message,
    )
    const [, min, max] = /from (\d+) to (\d+)/.exec(message)?.map(Number) ?? []
    const ranges = [whole(min!, max!), bytes(min!, max!), duration(min!, max!)]
    t.ok(
      ranges.some(({ accepted }) => kind.accepted === accepted),
      `${flagOf(name)}: ${kind.accepted}; the coordinator: ${message}`,
    )
  }
})

t.test(
  'every kind of bad value is rejected, with its source, the value, and what is expected',
  async (t) => {
    const bad: [flag: string, given: string, accepted: RegExp][] = [
      ['--port', '65536', /a whole number from 0 to 65535$/],
      ['--port', '-1', /a whole number/],
      ['--port', '1.5', /a whole number/],
      ['--port', '', /a whole number/],
      ['--http-port', 'on', /from 0 to 65535, or off$/],
      ['--lease-duration', '30', /a duration with a unit \(500ms, 30s.*\) from 10ms to 1d$/],
      ['--lease-duration', '30 sec', /a duration/],
      ['--lease-duration', '25h', /to 1d$/],
      ['--retention', '999999d', /from 0ms to 407226d$/],
      ['--payload-bytes-max', '1KB', /bytes \(4096, 256KiB.*\) from 0B to 15MiB$/],
      ['--payload-bytes-max', '65MiB', /bytes/],
      ['--sync', 'sometimes', /one of always, interval, none$/],
      ['--log-level', 'loud', /one of trace, /],
      ['--accept-loss', '3', /segment:offset$/],
      ['--restored', 'false', /true, or the next LSN: a whole number from 1/],
      ['--data-dir', '', /a non-empty text$/],
      ['--insecure', 'perhaps', /true or false$/],
    ]
    for (const [flag, given, accepted] of bad) {
      const message = refusal([`${flag}=${given}`])
      t.ok(message.startsWith(`${flag} is ${JSON.stringify(given)}; it must be `), message)
      t.match(message, accepted)
    }
    t.match(refusal([], { TENURE_PORT: 'x' }), /^TENURE_PORT is "x"; it must be a whole number/)
    t.match(refusal(['--port']), /^--port requires a value; it must be a whole number/)
    t.match(refusal(['--port', '--host', 'x']), /^--port requires a value/)
  },
)

t.test('a config file accepts JSON types', async (t) => {
  const content = {
    port: 1,
    httpPort: 'off',
    segmentBytes: 1_048_576,
    payloadBytesMax: '1MiB',
    restored: true,
    insecure: true,
    leaseDuration: '1m',
    acceptLoss: '1:2',
  }
  t.match(configureWith(['--config', file(t, 'c.json', content)]).values, {
    port: 1,
    httpPort: 'off',
    segmentBytes: 2 ** 20,
    payloadBytesMax: 2 ** 20,
    restored: true,
    insecure: true,
    leaseDuration: 60_000,
    acceptLoss: { segment: 1, offset: 2 },
  })
})

t.test('the token comes from the environment or a file, never from a flag', async (t) => {
  const roles = ['produce', 'work', 'admin']
  t.match(
    refusal(['--token', 'hush']),
    /^other users can see flags; set TENURE_TOKEN instead of --token\./,
  )
  t.notMatch(refusal(['--token', 'hush']), /hush/)
  t.match(refusal(['--config', file(t, 'c.json', { token: 'hush' })]), /cannot be set in the conf/)
  t.same(toOptions(configureWith([], { TENURE_TOKEN: 'hush' })).tokens, [{ token: 'hush', roles }])
  const path = file(t, 'token', 'hush\n')
  t.same(toOptions(configureWith(['--token-file', path])).tokens, [{ token: 'hush', roles }])
  t.equal(
    refusal(['--token-file', path], { TENURE_TOKEN: 'hush' }),
    'TENURE_TOKEN and --token-file are mutually exclusive; remove one of them',
  )
  t.equal(
    refusal(['--token-file', 'hush']),
    'the file set by --token-file does not exist; set it to the path of a file that holds the secret',
  )
  t.match(
    refusal(['--token-file', file(t, 'e', '\n')]),
    /^the token in --token-file .* is invalid; .* 1 to 1024 bytes/,
  )
  t.match(refusal([], { TENURE_TOKEN: 'x'.repeat(1025) }), /^TENURE_TOKEN is invalid;/)
})

t.test('a token for every role and tokens per role are mutually exclusive', (t) => {
  const tokens = ['--tokens-file', file(t, 'tokens.json', { work: ['hush'] })]
  t.equal(
    refusal(tokens, { TENURE_TOKEN: 'hush' }),
    'TENURE_TOKEN and --tokens-file are mutually exclusive; remove one of them',
  )
  t.equal(
    refusal([...tokens, '--token-file', file(t, 'token', 'other')]),
    '--token-file and --tokens-file are mutually exclusive; remove one of them',
  )
  t.end()
})

t.test('tokens per role come from a file, and a token may have several roles', async (t) => {
  const content = { produce: ['one', 'both'], work: ['both'] }
  const args = ['--tokens-file', file(t, 'tokens.json', content)]
  t.same(toOptions(configureWith(args)).tokens, [
    { token: 'one', roles: ['produce'] },
    { token: 'both', roles: ['produce', 'work'] },
  ])
  const said = (content: unknown) => refusal(['--tokens-file', file(t, 'tokens.json', content)])
  t.match(
    said({ work: ['one'], boss: ['hush'] }),
    /tokens\.json: key 2 is not a role; use produce, work, admin as keys, each with a list/,
  )
  t.match(said({ work: 'hush' }), /tokens\.json: work is not a list; it must be a list of tokens$/)
  t.match(said({ work: ['ok', 7] }), /tokens\.json: work\[1\] is invalid/)
  t.match(
    said({ work: [] }),
    /tokens\.json, set by --tokens-file, contains no tokens; add at least one$/,
  )
  t.match(
    said('["hush"'),
    /is not valid JSON; it must hold a JSON object$/,
    'the message does not quote the file',
  )
})

t.test('no error message contains a secret, wherever it was set', async (t) => {
  const config = (content: unknown) => ['--config', file(t, 'c.json', content)]
  const tokens = (content: unknown) => ['--tokens-file', file(t, 'tokens.json', content)]
  const pem = '-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n'
  // One after the other, because they write the same files.
  const wrong: (() => [args: string[], env?: Record<string, string>])[] = [
    () => [tokens({ hush: ['admin'] })],
    () => [tokens({ admin: ['ok'], hush: ['admin'] })],
    () => [tokens({ admin: { hush: true } })],
    () => [tokens({ admin: 'hush' })],
    () => [tokens({ admin: [{ hush: 'hush' }] })],
    () => [tokens({ admin: [`hush${'h'.repeat(1024)}`] })],
    () => [tokens('hush')],
    () => [tokens('{ "admin": ["hush" }')],
    () => [tokens(['hush'])],
    () => [['--tokens-file', 'hush']],
    () => [['--token-file', 'hush']],
    () => [['--token=hush']],
    () => [['--', '--token=hush']],
    () => [['TENURE_TOKEN=hush']],
    () => [[], { TENURE_TOKEN: `hush${'h'.repeat(1024)}` }],
    () => [[], { TENURE_TOKEN_FILE: 'hush' }],
    () => [[], { TENURE_TOKENS_FILE: '{ "admin": ["hush"] }' }],
    () => [[], { TENURE_TOKNE: 'hush' }],
    () => [['--tls-cert', fixture('tls.crt')], { TENURE_TLS_KEY: pem }],
    () => [['--tls-cert', fixture('tls.crt'), '--tls-key', file(t, 'key', pem)]],
    () => [config({ token: 'hush' })],
    () => [config({ tokenFile: 'hush' })],
    () => [config({ tokensFile: { admin: ['hush'] } })],
    () => [config({ tokensFile: ['hush'] })],
    () => [config({ tlsKey: { pem } })],
    () => [config('{ "tokenFile": "hush" ')],
  ]
  for (const put of wrong) {
    const [args, env] = put()
    const message = refusal(args, env)
    t.not(message, 'it was accepted')
    t.notMatch(message, /hush/, message)
    t.notMatch(await said([...args, '--print-config'], env), /hush/)
  }
})

t.test('the settings for token files and the key are marked as secret files', async (t) => {
  const secrets = all.filter(([, { isSecretFile }]) => isSecretFile).map(([name]) => name)
  t.same(secrets, ['tlsKey', 'tokenFile', 'tokensFile'])
})

t.test('certificates are checked before anything starts', async (t) => {
  const cert = ['--tls-cert', fixture('tls.crt')]
  const key = ['--tls-key', fixture('tls.key')]
  t.match(refusal(cert), /^--tls-cert is incomplete; TLS needs both --tls-cert and --tls-key/)
  t.match(
    refusal([], { TENURE_TLS_CLIENT_CA: 'x' }),
    /^TENURE_TLS_CLIENT_CA is incomplete; TLS needs both/,
  )
  const swapped = ['--tls-cert', fixture('tls.key'), '--tls-key', fixture('tls.crt')]
  t.match(
    refusal(swapped),
    /^--tls-cert .*tls\.key and --tls-key .*tls\.crt are not a certificate and its private key/,
  )
  const ca = (name: string) => ['--tls-client-ca', fixture(name)]
  t.match(
    refusal([...cert, ...key, ...ca('tls.key')]),
    /^--tls-client-ca .*tls\.key is not a certificate/,
  )
  const limits = { handshakeTimeout: 10_000 }
  t.match(toOptions(configureWith([...cert, ...key])).tls, { ...limits, ca: undefined })
  t.match(toOptions(configureWith([...cert, ...key, ...ca('tls.crt')])).tls, {
    ...limits,
    ca: /BEGIN/,
    requestCert: true,
    rejectUnauthorized: true,
  })
})

/** The output with these arguments, without running. */
async function said(args: string[], env: Record<string, string> = {}): Promise<string> {
  const told: string[] = []
  const output = { fd: 1, write: (text: string) => told.push(text) }
  const host = { argv: ['node', 'main.js', ...args], env, stdout: output, stderr: output }
  const unused = { on: () => {}, exit: (code: number) => t.bailout(`exit ${code}`) as never }
  await runCommand(command, { ...host, ...unused })
  return told.join('')
}

t.test('the help lists every setting with its variable and default, in 100 columns', async (t) => {
  const help = await said(['--help'])
  for (const [name, { kind, fallback, sources }] of all) {
    const isFlag = (sources ?? kind.sources)?.includes('flag') ?? true
    if (isFlag) t.match(help, new RegExp(`^  ${flagOf(name)}\\b`, 'm'))
    t.match(help, new RegExp(`\\b${variableOf(name)}\\b`))
    const entry = help.split(/\n {2}(?=\S)/).find((text) => {
      return text.startsWith(`${flagOf(name)} `) || text.startsWith(`${flagOf(name)}\n`)
    })
    if (fallback === undefined || fallback === false) continue
    const isText = typeof fallback === 'string' && kind.choices === undefined
    const shown = isText ? `"${fallback}"` : kind.format(fallback)
    t.ok(entry?.replace(/\s+/g, ' ').includes(`(default ${shown})`), flagOf(name))
  }
  for (const action of ['help, -h', 'version, -V, -v', 'print-config'])
    t.match(help, new RegExp(`^  --${action} +Show `, 'm'))
  t.same(
    help.split('\n').filter((line) => line.length > 100),
    [],
  )
})

t.test('--print-config shows values with their sources, and a secret only as set', async (t) => {
  const path = file(t, 'c.json', { retention: '90m', acceptLoss: '1:2' })
  const env = { TENURE_TOKEN: 'hush', TENURE_CONFIG: path }
  const shown = await said(['--http-port', 'off', '--print-config'], env)
  t.equal(shown.trimEnd().split('\n').length, all.length)
  t.match(shown, /^http-port +off +--http-port$/m)
  t.match(shown, /^token +set +TENURE_TOKEN$/m)
  t.match(shown, /^retention +90m +.*c\.json: retention$/m)
  t.match(shown, /^accept-loss +1:2 /m)
  t.match(shown, /^lease-duration +30s +default$/m)
  t.match(shown, /^tls-cert +- +default$/m)
  t.notMatch(shown, /hush/)
})
