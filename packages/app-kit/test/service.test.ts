import { chmodSync } from 'node:fs'
import { protocolVersion } from '@tenure/protocol'
import { SimulatedClock } from '@tenure/testing'
import t, { type Test } from 'tap'
import {
  ConfigError,
  configure,
  defineCommand,
  loggingSettings,
  RateLimitedLines,
  type Running,
  readVersions,
  runService,
  type Service,
  type StopSignal,
  secret,
  setting,
  text,
} from '../src/index.js'
import { Exit, file, HostWorld } from './world.js'

const command = defineCommand({
  name: 'serve',
  version: '1.2.3',
  summary: 'Serve requests.',
  settings: {
    ...loggingSettings,
    Lock: {
      lockFile: setting(text('file'), {
        help: 'File that holds the word for the lock.',
        isSecretFile: true,
      }),
      lockWord: setting(secret(), { help: 'Word for the lock.' }),
    },
  },
  prepare: () => async () => 0,
})

/** A service that ends after `stop`, or when the test ends it. */
class RunningWorld implements Running {
  readonly ended: Promise<unknown>
  fail: (error: Error) => void = () => {}
  end: (error?: Error) => void = () => {}

  constructor() {
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve
      this.fail = reject
    })
  }

  async stop(): Promise<void> {
    this.end()
  }
}

function serve(t: Test, args: string[] = [], start?: Service['start'], env = {}) {
  const host = new HostWorld(t, args, env)
  const running = new RunningWorld()
  const service: Service = {
    facts: { version: '1.2.3' },
    start: start ?? (async () => running),
    startupExitCode: (error) => (error instanceof RangeError ? 2 : 4),
    explain: (error) => `because ${(error as Error).message}`,
    describe: () => ({ code: 'WHY' }),
    failure: 'disk failed',
  }
  const run = runService(service, configure(command, args, env), host)
  // runService exits the process, which this host turns into an error.
  const ended = run.then(
    () => undefined,
    (error: unknown) => error,
  )
  return { host, running, ended }
}

const messages = ({ lines }: HostWorld) => lines.map(({ msg }) => msg)

t.test('a signal stops the service, and the log says so', async (t) => {
  const { host, ended } = serve(t)
  await host.listening
  host.signal('SIGTERM')
  t.match(await ended, new Exit(0))
  t.same(messages(host), ['starting', 'stopping', 'stopped'])
  t.match(host.lines[0], { level: 'info', version: '1.2.3' })
  t.match(host.lines[1], { signal: 'SIGTERM' })
})

t.test('a signal interrupts the startup', async (t) => {
  const { host, ended } = serve(t, [], () => new Promise(() => {}))
  await host.listening
  host.signal('SIGINT')
  t.match(await ended, new Exit(0))
})

t.test('a second signal ends the process immediately', async (t) => {
  const codes = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const
  for (const [signal, code] of Object.entries(codes) as [StopSignal, number][]) {
    const { host, running } = serve(t)
    running.stop = () => new Promise(() => {})
    await host.listening
    host.signal('SIGTERM')
    t.throws(() => host.signal(signal), new Exit(code))
  }
})

t.test('a failure at run time is one fatal line and exit code 1', async (t) => {
  for (const way of ['fail', 'end'] as const) {
    const { host, running, ended } = serve(t)
    await host.listening
    running[way](new Error('of rust'))
    t.match(await ended, new Exit(1))
    t.match(host.lines.at(-1), { level: 'fatal', code: 'WHY', msg: 'disk failed: because of rust' })
  }
})

t.test('a service that cannot end by itself ends after stop', async (t) => {
  const { host, ended } = serve(t, [], async () => ({ stop: async () => {} }))
  await host.listening
  host.signal('SIGTERM')
  t.match(await ended, new Exit(0))
  t.same(messages(host), ['starting', 'stopping', 'stopped'])
})

t.test('a failing stop is reported as the failure', async (t) => {
  const { host, running, ended } = serve(t)
  running.stop = async () => Promise.reject(new Error('of rust'))
  await host.listening
  host.signal('SIGTERM')
  t.match(await ended, new Exit(1))
  t.match(host.lines.at(-1), { level: 'fatal', msg: 'disk failed: because of rust' })
})

t.test('a failed startup is a fatal line and its own exit code', async (t) => {
  const { host, ended } = serve(t, [], async () => Promise.reject(new Error('of rust')))
  t.match(await ended, new Exit(4))
  t.match(host.lines.at(-1), { level: 'fatal', msg: 'startup failed: because of rust' })
})

t.test('a configuration error found at startup is a ConfigError', async (t) => {
  const { host, ended } = serve(t, [], async () => Promise.reject(new RangeError('of rust')))
  const error = await ended
  t.ok(error instanceof ConfigError)
  t.match(error, { message: 'because of rust' })
  t.same(messages(host), ['starting'])
})

t.test('a secret file that other users can read is logged as a warning', async (t) => {
  const path = file(t, 'lock', 'hush')
  chmodSync(path, 0o644)
  const { host, ended } = serve(t, ['--lock-file', path])
  await host.listening
  host.signal('SIGTERM')
  await ended
  t.match(host.lines[0], { level: 'warn', file: path, msg: /chmod 600/ })
})

t.test('closing the terminal stops the service', async (t) => {
  const { host, ended } = serve(t)
  await host.listening
  host.signal('SIGHUP')
  t.match(await ended, new Exit(0))
  t.match(host.lines[1], { msg: 'stopping', signal: 'SIGHUP' })
})

t.test('secrets are removed from the environment', async (t) => {
  const env = { TENURE_LOCK_WORD: 'hush', TENURE_LOG_LEVEL: 'info', PATH: '/bin' }
  const { host, ended } = serve(t, [], undefined, env)
  await host.listening
  t.same(host.env, { TENURE_LOG_LEVEL: 'info', PATH: '/bin' })
  host.signal('SIGTERM')
  await ended
})

t.test('--log-level limits the log', async (t) => {
  const { host, ended } = serve(t, ['--log-level', 'silent'])
  await host.listening
  host.signal('SIGTERM')
  await ended
  t.equal(host.output, '')
})

t.test('--log-pretty writes readable lines, without colours in a file', async (t) => {
  const { host, ended } = serve(t, ['--log-pretty'])
  await host.listening
  host.signal('SIGTERM')
  await ended
  t.match(host.output, /^\[[\d:.]+\] INFO: starting \{.*\}\n/)
  t.match(host.output, /INFO: stopped\n$/)
  t.notOk(host.output.includes('\u001b'))
})

t.test('lines above the limit per second are counted instead of written', async (t) => {
  const written: (string | number)[] = []
  const clock = new SimulatedClock()
  const lines = new RateLimitedLines(2, (count) => written.push(count), clock)
  for (const line of ['a', 'b', 'c', 'd']) lines.write(() => written.push(line))
  t.same(written, ['a', 'b'])
  await clock.advance(1000)
  t.same(written.splice(0), ['a', 'b', 2])
  lines.write(() => written.push('e'))
  await clock.advance(1000)
  t.same(written, ['e'], 'no count if no line was left out')
})

t.test('the version of an app comes from its package.json', async (t) => {
  const manifest = new URL('../../package.json', import.meta.url)
  t.match(readVersions(manifest), {
    version: /^\d+\.\d+\.\d+$/,
    protocol: protocolVersion,
    node: process.version,
  })
})
