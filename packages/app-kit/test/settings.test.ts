import { chmodSync } from 'node:fs'
import { connect } from '@tenure/client'
import t from 'tap'
import {
  argument,
  bytes,
  type ConnectionConfiguration,
  choice,
  configFileSettings,
  configure,
  connectionSettings,
  defineCommand,
  duration,
  type Environment,
  listOf,
  portOrOff,
  runCommand,
  secret,
  setting,
  text,
  toLinkOptions,
  whole,
  withSettingNames,
  yesOrNo,
} from '../src/index.js'
import { suggest } from '../src/settings/near-miss.js'
import { findExposedSecrets } from '../src/sources/configuration.js'
import { file, fixture, HostWorld, refusal } from './world.js'

/** A command with a setting of every kind. */
const builder = defineCommand({
  name: 'build-house',
  version: '1.2.3',
  summary: 'Build a house.',
  examples: [{ line: 'build-house Ada --floors 2', help: 'Build one for Ada with two floors.' }],
  settings: {
    ...configFileSettings,
    Whose: {
      owner: argument(text('name'), { help: 'Owner of the house.' }),
      guests: argument(listOf(text('name')), { required: false, help: 'Guests to let in.' }),
    },
    House: {
      floors: setting(whole(1, 9), {
        fallback: 1,
        help: 'Number of floors.',
        option: 'options.floors',
      }),
      roomBytes: setting(bytes(0, 2 ** 20), { fallback: 4096, help: 'Size of each room.' }),
      warmth: setting(duration(1, 1000), {
        fallback: 20,
        help: 'Heating time.',
        option: 'options.warm',
      }),
      roof: setting(choice('flat', 'steep'), { required: true, help: 'Shape of the roof.' }),
      door: setting(portOrOff(), { help: 'Number of the door.' }),
      cellar: setting(yesOrNo(), { fallback: false, help: 'Build a cellar.' }),
      floorsOption: setting(text('x'), {
        help: 'Option of the floors.',
        option: 'options.floorsOption',
      }),
    },
    Lock: {
      lockWord: setting(secret(), { help: 'Word for the lock; --lock-file reads it from a file.' }),
      lockFile: setting(text('file'), {
        help: 'File that holds the word for the lock.',
        isSecretFile: true,
      }),
    },
  },
  prepare: ({ values }) => {
    return async (host) => {
      // The types follow from the table: this would not compile otherwise.
      const floors: number = values.floors
      const roof: 'flat' | 'steep' = values.roof
      const guests: readonly string[] | undefined = values.guests
      host.stdout.write(`${values.owner} ${floors} ${roof} ${guests?.length ?? 0}\n`)
      return 7
    }
  },
})

const least = ['Ada', '--roof', 'flat']
const settle = (args: string[], env: Environment = {}) => configure(builder, args, env)
const valuesOf = (args: string[], env?: Environment) => settle([...least, ...args], env).values
const said = (args: string[], env?: Environment) => refusal(() => valuesOf(args, env))

t.test('flags override variables, variables the file, and the file the defaults', async (t) => {
  const path = file(t, 'c.json', { floors: 2, door: 2, lockFile: 'from file' })
  const env = { TENURE_CONFIG: path, TENURE_FLOORS: '3', TENURE_DOOR: '4' }
  const { values, origins } = settle([...least, '--floors', '5'], env)
  t.match(values, { floors: 5, door: 4, lockFile: 'from file', warmth: 20 })
  t.equal(origins.get('floors'), '--floors')
  t.equal(origins.get('door'), 'TENURE_DOOR')
  t.equal(origins.get('lockFile'), `${path}: lockFile`)
  t.equal(origins.get('owner'), '<owner>')
  t.equal(origins.get('warmth'), undefined)
})

t.test('the flag --config overrides TENURE_CONFIG', async (t) => {
  const path = file(t, 'c.json', { floors: 2 })
  t.equal(valuesOf(['--config', path], { TENURE_CONFIG: '/nowhere' }).floors, 2)
})

t.test('the last value of a repeated flag counts', async (t) => {
  t.equal(valuesOf(['--floors', '1', '--floors=2']).floors, 2)
})

t.test('a flag can turn off what the environment turns on', async (t) => {
  const env = { TENURE_CELLAR: 'true' }
  t.equal(valuesOf([], env).cellar, true)
  t.equal(valuesOf(['--cellar=false'], env).cellar, false)
  t.equal(valuesOf(['--cellar']).cellar, true)
})

t.test('arguments follow the order of the table, with flags anywhere', async (t) => {
  t.match(settle(['--cellar', 'Ada', '--roof', 'flat', 'Bob,Eve']).values, {
    owner: 'Ada',
    guests: ['Bob', 'Eve'],
    cellar: true,
  })
  t.match(settle(['--roof', 'flat', '--', '--Ada']).values, { owner: '--Ada', guests: undefined })
  t.equal(
    said(['Bob', 'Eve']),
    'unexpected argument "Eve": there are too many. See build-house --help.',
  )
  t.equal(said(['Bob,,Eve']).slice(0, 22), '<guests> is "Bob,,Eve"')
  t.equal(said(['--owner', 'Bob']), '--owner is not a flag; pass <owner> as an argument.')
  t.match(said([], { TENURE_OWNER: 'Bob' }), /^unknown environment variable TENURE_OWNER\./)
  t.match(
    said(['--config', file(t, 'c.json', { owner: 'Bob' })]),
    /owner cannot be set in the configuration file/,
  )
})

t.test('TENURE_COORDINATOR is allowed in every command', async (t) => {
  t.equal(valuesOf([], { TENURE_COORDINATOR: 'tenure.example.org' }).floors, 1)
  t.match(
    said([], { TENURE_COORDINATORS: 'x' }),
    /^unknown environment variable TENURE_COORDINATORS\./,
  )
})

t.test('a missing required setting is an error', async (t) => {
  const missing = (args: string[], env?: Environment) => refusal(() => settle(args, env))
  t.match(
    missing(['--roof', 'flat']),
    /^<owner> is required; it must be a non-empty text\. See build-house --help/,
  )
  t.match(missing(['Ada']), /^--roof is required; it must be one of flat, steep\. See build/)
  t.equal(missing(['Ada'], { TENURE_ROOF: 'steep' }), 'it was accepted')
})

t.test(
  'an invalid value is reported with its origin, the value and what is expected',
  async (t) => {
    const bad: [flag: string, given: string, accepted: RegExp][] = [
      ['--floors', '10', /a whole number from 1 to 9$/],
      ['--floors', '1.5', /a whole number/],
      ['--floors', '', /a whole number/],
      ['--door', 'on', /from 0 to 65535, or off$/],
      ['--warmth', '30', /a duration with a unit \(500ms, 30s.*\) from 1ms to 1s$/],
      ['--warmth', '2s', /a duration/],
      ['--room-bytes', '1KB', /a size in bytes \(4096, 256KiB.*\) from 0B to 1MiB$/],
      ['--room-bytes', '2MiB', /a size in bytes/],
      ['--roof', 'round', /one of flat, steep$/],
      ['--lock-file', '', /a non-empty text$/],
      ['--cellar', 'perhaps', /true or false$/],
    ]
    for (const [flag, given, accepted] of bad) {
      const message = said([`${flag}=${given}`])
      t.ok(message.startsWith(`${flag} is ${JSON.stringify(given)}; it must be `), message)
      t.match(message, accepted)
    }
    t.match(said([], { TENURE_FLOORS: 'x' }), /^TENURE_FLOORS is "x"; it must be a whole number/)
    t.match(said(['--floors']), /^--floors requires a value; it must be a whole number/)
    t.match(said(['--floors', '--cellar']), /^--floors requires a value/)
    t.match(
      said([`--roof=${'x'.repeat(1000)}`]),
      /^--roof is "x{199}…; it must/,
      'a long value is cut',
    )
  },
)

t.test('a choice in capitals may be typed in lower case', (t) => {
  const { parse } = choice('WAITING', 'DEAD', 'none')
  t.same(['dead', 'DEAD', 'none'].map(parse), ['DEAD', 'DEAD', 'none'])
  t.same(['NONE', 'Dead', ''].map(parse), [undefined, undefined, undefined])
  t.end()
})

t.test('the file accepts the JSON types of each setting and rejects others by name', async (t) => {
  const inFile = (content: unknown) => ['--config', file(t, 'c.json', content)]
  const content = { floors: 2, roomBytes: '1KiB', door: 'off', cellar: true, warmth: '1s' }
  t.match(valuesOf(inFile(content)), { ...content, roomBytes: 1024, warmth: 1000 })
  t.match(said(inFile({ floors: '70' })), /c\.json: floors is "70"; it must be a whole number/)
  t.match(said(inFile({ floors: true })), /c\.json: floors is true; it must be/)
  t.match(said(inFile({ warmth: 30 })), /c\.json: warmth is 30; it must be a duration/)
  t.match(said(inFile({ roof: ['a'] })), /c\.json: roof is \["a"\]; it must be/)
  t.match(said(inFile({ cellar: 'true' })), /c\.json: cellar is "true"; it must be true or false/)
  t.match(said(inFile({ door: null })), /c\.json: door is null; it must be/)
  t.match(said(inFile({ config: 'x' })), /c\.json: config cannot be set in the configuration file/)
  t.match(
    said(inFile({ 'room-bytes': 1 })),
    /room-bytes is not a known setting. Did you mean roomBytes\?/,
  )
  t.match(
    said(inFile('{ "floors": 1')),
    /c\.json, set by --config, is not valid JSON; it must hold a JSON object$/,
  )
  t.match(
    said(inFile([])),
    /c\.json, set by --config, holds another JSON value; it must hold a JSON object/,
  )
  t.match(said(['--config', '/nowhere']), /^cannot read \/nowhere, set by --config: ENOENT/)
})

t.test('an unknown name is an error that suggests a close one', async (t) => {
  t.match(said(['--flors', '1']), /^unknown flag --flors\. Did you mean --floors\?/)
  t.match(said(['--roomBytes', '1']), /Did you mean --room-bytes\?/)
  t.match(said(['--zzzzzzzzzzzz']), /^unknown flag --zzzzzzzzzzzz\. See build-house --help/)
  t.match(said(['-f', '1']), /^unknown flag -f\. See/)
  t.equal(suggest('-1', ['--at', '--log']), '', 'a suggestion keeps at least one letter')
  t.match(
    said([], { TENURE_FLORS: '1' }),
    /^unknown environment variable TENURE_FLORS\. Did you mean TENURE_FLOORS\?/,
  )
  t.equal(settle(least, { PATH: '/bin', TENURED: '1' }).origins.size, 2)
})

t.test('a command may ignore the variables of other commands', async (t) => {
  const tool = { ...builder, ignoresOtherVariables: true }
  const { values } = configure(tool, least, { TENURE_DATA_DIR: 'd', TENURE_FLOORS: '3' })
  t.equal(values.floors, 3)
})

t.test('a secret comes from the environment, never from a flag or a file', async (t) => {
  t.equal(valuesOf([], { TENURE_LOCK_WORD: 'hush' }).lockWord, 'hush')
  const message = said(['--lock-word', 'hush'])
  t.equal(
    message,
    'other users can see flags; set TENURE_LOCK_WORD instead of --lock-word. Word for the lock; --lock-file reads it from a file.',
  )
  t.match(said(['--config', file(t, 'c.json', { lockWord: 'hush' })]), /cannot be set in the conf/)
})

t.test('a secret file that other users can read is detected', async (t) => {
  const path = file(t, 'lock', 'hush')
  const exposed = () => findExposedSecrets(settle([...least, '--lock-file', path]))
  t.same(exposed(), [])
  chmodSync(path, 0o640)
  t.same(exposed(), [path])
  chmodSync(path, 0o604)
  t.same(exposed(), [path])
})

t.test('one name in two groups is an error of the table', async (t) => {
  const { settings } = builder
  const twice = { ...builder, settings: { ...settings, More: { floors: settings.House.floors } } }
  t.throws(() => configure(twice, least, {}), /^floors is in two groups/)
})

t.test('a command runs with its values and returns its exit code', async (t) => {
  const host = new HostWorld(t, [...least, 'Bob,Eve', '--floors=3'])
  t.equal(await runCommand(builder, host), 7)
  t.equal(host.said, 'Ada 3 flat 2\n')
})

t.test('a configuration error is one line on standard error and exit code 2', async (t) => {
  const host = new HostWorld(t, ['Ada', '--flors'])
  t.equal(await runCommand(builder, host), 2)
  t.equal(
    host.complained,
    'build-house: unknown flag --flors. Did you mean --floors? See build-house --help.\n',
  )
  t.equal(host.said, '')
})

t.test('an error message escapes line feeds and terminal commands', async (t) => {
  const host = new HostWorld(t, ['Ada', 'Bob', 'a\nb\u001b[2J'])
  t.equal(await runCommand(builder, host), 2)
  t.match(host.complained, /^build-house: unexpected argument "a\\nb\\u001b\[2J": [^\n]+\n$/)
  const shown = new HostWorld(t, [...least.with(0, 'Ada\nEve'), '--print-config'])
  t.equal(await runCommand(builder, shown), 0)
  t.match(shown.said, /^<owner> +Ada\\nEve +<owner>$/m)
})

t.test('an error other than ConfigError passes through', async (t) => {
  const broken = { ...builder, prepare: () => async () => Promise.reject(new TypeError('oh')) }
  await t.rejects(runCommand(broken, new HostWorld(t, least)), new TypeError('oh'))
})

t.test('the help shows the usage, every setting and the examples', async (t) => {
  const host = new HostWorld(t, ['--help'])
  t.equal(await runCommand(builder, host), 0)
  t.ok(
    host.said.startsWith(
      'Usage: build-house <owner> [<guests>] [flags]\n\nBuild a house. The name in brackets after a flag',
    ),
  )
  t.match(
    host.said,
    /Precedence: flags,\s+environment\s+variables,\s+configuration\s+file,\s+defaults\./,
  )
  t.match(
    host.said,
    /Examples:\n {2}# Build one for Ada with two floors\n {2}build-house Ada --floors 2\n$/,
  )
  t.match(host.said, /^Whose:\n {2}<owner> +Owner of the house\n/m)
  t.match(host.said, /^ {2}--floors <number> +Number of floors \(default 1\) \[TENURE_FLOORS\]\n/m)
  t.match(host.said, /^ {2}--cellar +Build a cellar \[TENURE_CELLAR\]\n/m)
  t.match(host.said, /^ {2}TENURE_LOCK_WORD=<secret> +Word for the lock; --lock-file reads it/m)
  for (const action of ['help, -h', 'version, -V, -v', 'print-config'])
    t.match(host.said, new RegExp(`^  --${action} +Show `, 'm'))
  t.same(
    host.said.split('\n').filter((line) => line.length > 100),
    [],
  )
})

t.test('a name that is wider than its column gets a line of its own', async (t) => {
  const wide = setting(choice('as-flat-as-a-table', 'steep'), { help: 'Shape of the roof.' })
  const host = new HostWorld(t, ['--help'])
  const command = { ...builder, settings: { Roof: { roof: wide } }, examples: [] }
  await runCommand({ ...command, prepare: () => async () => 0 }, host)
  const margin = ' '.repeat(34)
  t.match(
    host.said,
    `Roof:\n  --roof <as-flat-as-a-table|steep>\n${margin}Shape of the roof [TENURE_ROOF]\n`,
  )
})

t.test('the help mentions the configuration file only if there is one', async (t) => {
  const { 'Configuration file': _, ...settings } = builder.settings
  const host = new HostWorld(t, ['--help'])
  await runCommand({ ...builder, settings, prepare: () => async () => 0 }, host)
  t.match(host.said, /Precedence: flags,\s+environment\s+variables,\s+defaults\./)
})

t.test('--version shows the version', async (t) => {
  const host = new HostWorld(t, ['--version'])
  t.equal(await runCommand(builder, host), 0)
  t.equal(host.said, '1.2.3\n')
})

t.test('--print-config shows each value and its origin, but no secret', async (t) => {
  const path = file(t, 'c.json', { warmth: '500ms', door: 'off' })
  const env = { TENURE_LOCK_WORD: 'hush', TENURE_CONFIG: path }
  const host = new HostWorld(t, [...least, 'Bob,Eve', '--floors=2', '--print-config'], env)
  t.equal(await runCommand(builder, host), 0)
  t.match(host.said, /^<guests> +Bob,Eve +<guests>$/m)
  t.match(host.said, /^floors +2 +--floors$/m)
  t.match(host.said, /^door +off +.*c\.json: door$/m)
  t.match(host.said, /^lock-word +set +TENURE_LOCK_WORD$/m)
  t.match(host.said, /^room-bytes +4KiB +default$/m)
  t.match(host.said, /^lock-file +- +default$/m)
  t.notMatch(host.said, /hush|Ada 2/)
})

t.test("a library's message names the origin of a setting instead of its option", async (t) => {
  const configuration = settle([...least], { TENURE_FLOORS: '3' })
  const message = 'options.floors is 3, options.warm is 20, options.floorsOption is unset'
  t.equal(
    withSettingNames(message, configuration),
    'TENURE_FLOORS is 3, --warmth is 20, --floors-option is unset',
  )
})

// ---- connection settings

const caller = defineCommand({
  name: 'call',
  version: '1.2.3',
  summary: 'Call the coordinator.',
  settings: connectionSettings,
  prepare: (configuration) => {
    toLinkOptions(configuration)
    return async () => 0
  },
})

const settleCall = (args: string[], env: Environment = {}): ConnectionConfiguration =>
  configure(caller, args, env)
const optionsOf = (args: string[], env?: Environment) => toLinkOptions(settleCall(args, env))
const saidOfCall = (args: string[], env?: Environment) => refusal(() => optionsOf(args, env))
const own = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('tls.key')]

t.test('the default is the coordinator on this machine, without TLS and token', async (t) => {
  t.same(optionsOf([]), { endpoints: ['127.0.0.1:7411'] })
})

t.test('several endpoints are tried in turn', async (t) => {
  const endpoints = ['a:1', 'b', '[::1]:7411']
  t.same(optionsOf(['--coordinator', 'a:1, b,[::1]:7411']), { endpoints })
  t.same(optionsOf([], { TENURE_COORDINATOR: 'a:1,b,[::1]:7411' }), { endpoints })
  for (const bad of ['', 'a,', 'a:0', 'a:65536', 'http://a', '::1']) {
    const message = saidOfCall([`--coordinator=${bad}`])
    t.ok(message.startsWith(`--coordinator is "${bad}"; it must be host:port, `), message)
  }
})

t.test('an invalid coordinator address that may hold a secret is not repeated', async (t) => {
  for (const bad of ['tcp://me:hush@a:1', 'hush@a', 'a,me:hush,hush@b:1', 'a:1/?token=hush']) {
    const message = saidOfCall([], { TENURE_COORDINATOR: bad })
    t.match(
      message,
      /^TENURE_COORDINATOR is a URL with credentials or a query; it must be host:port/,
    )
    t.notMatch(message, /hush/)
  }
})

t.test('the token comes from the environment or a file, never from a flag', async (t) => {
  const path = file(t, 'token', 'hush\n')
  t.equal(optionsOf([], { TENURE_TOKEN: 'hush' }).token, 'hush')
  t.equal(optionsOf(['--token-file', path]).token, 'hush')
  t.match(
    saidOfCall(['--token', 'hush']),
    /^other users can see flags; set TENURE_TOKEN instead of --token\./,
  )
  t.notMatch(saidOfCall(['--token', 'hush']), /hush/)
  t.equal(
    saidOfCall(['--token-file', path], { TENURE_TOKEN: 'hush' }),
    'TENURE_TOKEN and --token-file are mutually exclusive; remove one of them',
  )
  t.match(
    saidOfCall(['--token-file', 'hush']),
    /^the file set by --token-file does not exist; set it to the path of a file that holds the secret/,
  )
  t.match(
    saidOfCall(['--token-file', file(t, 'e', '\n')]),
    /^the token in --token-file .* is invalid; .* 1 to 1024 bytes/,
  )
  t.match(saidOfCall([], { TENURE_TOKEN: 'x'.repeat(1025) }), /^TENURE_TOKEN is invalid;/)
})

t.test('--tls trusts the CAs of Node.js, --tls-ca another one', async (t) => {
  t.equal(optionsOf(['--tls']).tls, true)
  t.match(optionsOf(['--tls-ca', fixture('tls.crt')]).tls, { ca: /BEGIN CERTIFICATE/ })
  t.match(saidOfCall(['--tls-ca', fixture('tls.key')]), /--tls-ca .*tls\.key is not a certificate/)
})

t.test('a client certificate needs its key', async (t) => {
  t.match(optionsOf(own).tls, { cert: /BEGIN CERTIFICATE/, key: /PRIVATE KEY/, ca: undefined })
  t.equal(
    saidOfCall(own.slice(0, 2)),
    '--tls-cert is incomplete; a client certificate needs both --tls-cert and --tls-key',
  )
  t.match(
    saidOfCall([], { TENURE_TLS_KEY_PASSPHRASE: 'hush' }),
    /^TENURE_TLS_KEY_PASSPHRASE is incomplete; a client/,
  )
  const swapped = ['--tls-cert', fixture('tls.key'), '--tls-key', fixture('tls.crt')]
  t.match(
    saidOfCall(swapped),
    /--tls-cert .*tls\.key and --tls-key .*tls\.crt are not a certificate and its private key/,
  )
})

t.test('an encrypted key needs its passphrase', async (t) => {
  const args = ['--tls-cert', fixture('tls.crt'), '--tls-key', fixture('encrypted.key')]
  t.match(saidOfCall(args), /are not a certificate and its private key/)
  t.match(
    saidOfCall(args, { TENURE_TLS_KEY_PASSPHRASE: 'wrong' }),
    /are not a certificate and its private key/,
  )
  const { tls } = optionsOf(args, { TENURE_TLS_KEY_PASSPHRASE: 'hush' })
  t.match(tls, { passphrase: 'hush', key: /ENCRYPTED PRIVATE KEY/ })
})

t.test('--tls=false contradicts the flags that need TLS', async (t) => {
  const needy = ['--tls=false', '--tls-servername', 'c.example']
  t.equal(saidOfCall(needy), '--tls is false, but --tls-servername needs TLS; remove one of them')
  t.match(optionsOf(needy.slice(1)).tls, { servername: 'c.example' })
  t.equal(optionsOf(['--tls=false'], { TENURE_TLS: 'true' }).tls, undefined)
})

t.test('the files of the token and the key are secret files', async (t) => {
  const path = file(t, 'token', 'hush')
  t.same(findExposedSecrets(settleCall(['--token-file', path])), [])
  const secrets = [...settleCall([]).settings].filter(([, { isSecretFile }]) => isSecretFile)
  t.same(
    secrets.map(([name]) => name),
    ['tokenFile', 'tlsKey'],
  )
})

t.test('the client accepts the resulting options', async (t) => {
  const args = ['--coordinator', '127.0.0.1:1', '--tls-ca', fixture('tls.crt'), ...own]
  const options = optionsOf([...args, '--tls-servername', 'x'], { TENURE_TOKEN: 'hush' })
  const backoff = { initialMs: 1, maxMs: 1 }
  // No server listens on port 1; invalid options would fail with CLIENT_BAD_ARGUMENT.
  await t.rejects(connect({ ...options, backoff, connectTimeoutMs: 20 }), {
    code: 'CLIENT_UNREACHABLE',
  })
})
