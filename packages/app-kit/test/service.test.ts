import { chmodSync } from 'node:fs'
import { protocolVersion } from '@tenure/protocol'
import { SimulatedClock } from '@tenure/testing'
import t, { type Test } from 'tap'
import {
  ConfigError,
  configure,
  defineCommand,
  loggingSettings,
  RationedLines,
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
  summary: 'Serves.',
  settings: {
    ...loggingSettings,
    Lock: {
      lockFile: setting(text('file'), { help: 'A secret.', isSecretFile: true }),
      lockWord: setting(secret(), { help: 'Another one.' }),
    },
  },
  prepare: () => async () => 0,
})

/** A service that ends when it is told to, or when the test lets it fail. */
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
    exitCodeOfStart: (error) => (error instanceof RangeError ? 2 : 4),
    explain: (error) => `because ${(error as Error).message}`,
    describe: () => ({ code: 'WHY' }),
    failure: 'disk failed',
  }
  const run = runService(service, configure(command, args, env), host)
  // It never returns: it ends the process, or says why not.
  const ended = run.then(
    () => undefined,
    (error: unknown) => error,
  )
  return { host, running, ended }
}

const messages = ({ lines }: HostWorld) => lines.map(({ msg }) => msg)

t.test('a signal stops it, and its lines say so', async (t) => {
  const { host, ended } = serve(t)
  await host.listening
  host.signal('SIGTERM')
  t.match(await ended, new Exit(0))
  t.same(messages(host), ['starting', 'stopping', 'stopped'])
  t.match(host.lines[0], { level: 'info', version: '1.2.3' })
  t.match(host.lines[1], { signal: 'SIGTERM' })
})

t.test('a signal stops what has not started yet', async (t) => {
  const { host, ended } = serve(t, [], () => new Promise(() => {}))
  await host.listening
  host.signal('SIGINT')
  t.match(await ended, new Exit(0))
})

t.test('the second signal ends the process where it is', async (t) => {
  const codes = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const
  for (const [signal, code] of Object.entries(codes) as [StopSignal, number][]) {
    const { host, running } = serve(t)
    running.stop = () => new Promise(() => {})
    await host.listening
    host.signal('SIGTERM')
    t.throws(() => host.signal(signal), new Exit(code))
  }
})

t.test('what ends it by itself is one fatal line, and 1', async (t) => {
  for (const way of ['fail', 'end'] as const) {
    const { host, running, ended } = serve(t)
    await host.listening
    running[way](new Error('of rust'))
    t.match(await ended, new Exit(1))
    t.match(host.lines.at(-1), { level: 'fatal', code: 'WHY', msg: 'disk failed: because of rust' })
  }
})

t.test('what cannot end by itself ends when it has stopped', async (t) => {
  const { host, ended } = serve(t, [], async () => ({ stop: async () => {} }))
  await host.listening
  host.signal('SIGTERM')
  t.match(await ended, new Exit(0))
  t.same(messages(host), ['starting', 'stopping', 'stopped'])
})

t.test('a stop that fails is what ended it', async (t) => {
  const { host, running, ended } = serve(t)
  running.stop = async () => Promise.reject(new Error('of rust'))
  await host.listening
  host.signal('SIGTERM')
  t.match(await ended, new Exit(1))
  t.match(host.lines.at(-1), { level: 'fatal', msg: 'disk failed: because of rust' })
})

t.test('what keeps it from starting is a fatal line, and the code for it', async (t) => {
  const { host, ended } = serve(t, [], async () => Promise.reject(new Error('of rust')))
  t.match(await ended, new Exit(4))
  t.match(host.lines.at(-1), { level: 'fatal', msg: 'not started: because of rust' })
})

t.test('a wrong configuration that shows at the start is refused like every other', async (t) => {
  const { host, ended } = serve(t, [], async () => Promise.reject(new RangeError('of rust')))
  const error = await ended
  t.ok(error instanceof ConfigError)
  t.match(error, { message: 'because of rust' })
  t.same(messages(host), ['starting'])
})

t.test('a file with a secret that others can read is warned of', async (t) => {
  const path = file(t, 'lock', 'hush')
  chmodSync(path, 0o644)
  const { host, ended } = serve(t, ['--lock-file', path])
  await host.listening
  host.signal('SIGTERM')
  await ended
  t.match(host.lines[0], { level: 'warn', file: path, msg: /chmod 600/ })
})

t.test('a closed terminal stops it, as a signal does', async (t) => {
  const { host, ended } = serve(t)
  await host.listening
  host.signal('SIGHUP')
  t.match(await ended, new Exit(0))
  t.match(host.lines[1], { msg: 'stopping', signal: 'SIGHUP' })
})

t.test('a secret is not in the environment of what it starts', async (t) => {
  const env = { TENURE_LOCK_WORD: 'hush', TENURE_LOG_LEVEL: 'info', PATH: '/bin' }
  const { host, ended } = serve(t, [], undefined, env)
  await host.listening
  t.same(host.env, { TENURE_LOG_LEVEL: 'info', PATH: '/bin' })
  host.signal('SIGTERM')
  await ended
})

t.test('the level says what is worth a line', async (t) => {
  const { host, ended } = serve(t, ['--log-level', 'silent'])
  await host.listening
  host.signal('SIGTERM')
  await ended
  t.equal(host.output, '')
})

t.test('lines for people are there on request, without colours in a file', async (t) => {
  const { host, ended } = serve(t, ['--log-pretty'])
  await host.listening
  host.signal('SIGTERM')
  await ended
  t.match(host.output, /^\[[\d:.]+\] INFO: starting \{.*\}\n/)
  t.match(host.output, /INFO: stopped\n$/)
  t.notOk(host.output.includes('\u001b'))
})

t.test('of many lines some are written each second, the others are counted', async (t) => {
  const written: (string | number)[] = []
  const clock = new SimulatedClock()
  const lines = new RationedLines(2, (count) => written.push(count), clock)
  for (const line of ['a', 'b', 'c', 'd']) lines.write(() => written.push(line))
  t.same(written, ['a', 'b'])
  await clock.advance(1000)
  t.same(written.splice(0), ['a', 'b', 2])
  lines.write(() => written.push('e'))
  await clock.advance(1000)
  t.same(written, ['e'], 'nothing was left out, so nothing is said')
})

t.test('an app has the version that its manifest says', async (t) => {
  const manifest = new URL('../../package.json', import.meta.url)
  t.match(readVersions(manifest), {
    version: /^\d+\.\d+\.\d+$/,
    protocol: protocolVersion,
    node: process.version,
  })
})
