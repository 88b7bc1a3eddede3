import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { documentedDefaults } from '@tenure/testing'
import t from 'tap'
import { startWorker, type WorkerOptions } from '../src/index.js'
import { resolveOptions } from '../src/options.js'
import { ManualIsolation } from './manual-isolation.js'
import { World } from './world.js'

// ---- options

/** Valid options, except that no handler is set. */
function good(): WorkerOptions {
  const isolation = new ManualIsolation()
  isolation.start = () => Promise.reject(new Error('nothing is wrong with these options'))
  return { endpoints: ['127.0.0.1:1'], isolation }
}

/** Plain JavaScript callers may pass any type. */
type Anything = Record<string, unknown>

const many = Array.from({ length: 17 }, (_, index) => `q${index}`)

const badOptions: readonly (readonly [option: string, given: Anything, name?: string])[] = [
  ['concurrency', { concurrency: 0 }],
  ['concurrency', { concurrency: 10_001 }],
  ['pollWaitMs', { pollWaitMs: 0 }],
  ['pollWaitMs', { pollWaitMs: Number.POSITIVE_INFINITY }],
  ['abortGraceMs', { abortGraceMs: -1 }],
  ['drainGraceMs', { drainGraceMs: -1 }],
  ['drainGraceMs', { drainGraceMs: 2 ** 46 }],
  ['giveUpAfterMs', { giveUpAfterMs: 0 }],
  ['giveUpAfterMs', { giveUpAfterMs: 1.5 }],
  ['giveUpAfterMs', { giveUpAfterMs: Number.NaN }],
  ['giveUpAfterMs', { giveUpAfterMs: 'never' }],
  ['giveUpAfterMs', { giveUpAfterMs: 2 ** 46 }],
  ['keepGoing', { keepGoing: 1 }],
  ['clockDrift', { clockDrift: 1 }],
  ['clockDrift', { clockDrift: -0.1 }],
  ['clockDrift', { clockDrift: Number.NaN }],
  ['clockDrift', { clockDrift: '1%' }],
  ['queues', { queues: [] }],
  ['queues', { queues: many }],
  ['queues[1]', { queues: ['mail', ''] }],
  ['queues[0]', { queues: ['x'.repeat(65)] }],
  ['isolation', { isolation: 'fork' }],
  ['isolation', { isolation: null }],
  ['isolation.start', { isolation: {} }],
  ['handler', { isolation: 'thread' }],
  ['handler', { isolation: 'process', handler: '' }],
  ['handler', { isolation: 'inline', handler: 7 }],
  ['handler', { isolation: 'thread', handler: async () => 1 }],
  ['handler', { isolation: 'process', handler: async () => 1 }],
  ['execArgv', { execArgv: '--inspect' }],
  ['execArgv', { execArgv: [1] }],
  ['onCancelled', { onCancelled: 'log' }],
  ['observer', { observer: () => {} }],
  ['observer.leased', { observer: { leased: 'log' } }],
  ['role', { role: 'admin' }],
  ['capacity', { capacity: 3 }],
  ['connectTimeoutMs', { connectTimeoutMs: 3 }],
  ['concurency', { concurency: 4 }],
]

for (const [option, given] of badOptions) {
  const [name, value] = Object.entries(given).at(-1)!
  const shown = typeof value === 'string' ? `"${value}"` : String(JSON.stringify(value) ?? value)
  t.test(`${name} ${shown.slice(0, 40)} is rejected as options.${option}`, async (t) => {
    const options = { ...good(), ...given } as WorkerOptions
    await t.rejects(startWorker(options), {
      name: 'WorkerError',
      code: 'WORKER_BAD_OPTION',
      message: new RegExp(`^options\\.${option.replace(/[[\].]/g, '\\$&')} is .*; it must be `),
    })
  })
}

for (const [option, given] of [
  ['endpoints', { endpoints: [] }],
  ['endpoints[0]', { endpoints: ['a:b:c'] }],
  ['name', { name: '' }],
  ['token', { token: '' }],
  ['tls', { tls: { certificate: 'x' } }],
  ['keepAliveMs', { keepAliveMs: 0 }],
  ['attemptTimeoutMs', { attemptTimeoutMs: 'soon' }],
  ['backoff', { backoff: { minMs: 1 } }],
  ['backoff', { backoff: 5 }],
] as const) {
  t.test(`${JSON.stringify(given)} is rejected by name`, async (t) => {
    const isolation = new ManualIsolation()
    const options = { ...good(), isolation, ...given } as unknown as WorkerOptions
    await t.rejects(startWorker(options), {
      code: 'CLIENT_BAD_ARGUMENT',
      message: new RegExp(`options\\.${option.replace(/[[\].]/g, '\\$&')}`),
    })
  })
}

t.test('an execArgv that threads do not accept is a bad option', async (t) => {
  const handler = new URL('fixtures/obedient.js', import.meta.url)
  await t.rejects(
    startWorker({ ...good(), isolation: 'thread', handler, execArgv: ['--no-such'] }),
    {
      code: 'WORKER_BAD_OPTION',
      message: /^options\.execArgv is --no-such; it must be .*--no-such/,
    },
  )
})

t.test("a partial backoff keeps the worker's default for the other value", async (t) => {
  await using world = await World.create({ backoff: { initialMs: 20 } })
  world.coordinator.isDown = true
  await world.cut()
  await world.advance(60_000)
  // At most a second passes between two attempts.
  t.ok(world.calls('attemptFailed').length >= 60)
})

t.test('the defaults are those of the README', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const documented = documentedDefaults(readme)
  const { link, queues, pollWaitMs, abortGraceMs, drainGraceMs, ...others } = resolveOptions(good())
  const { clockDrift, processMetrics, concurrency, giveUpAfterMs, keepGoing } = others
  const { backoff } = link
  for (const [name, value] of Object.entries({
    queues,
    pollWaitMs,
    abortGraceMs,
    drainGraceMs,
    clockDrift,
    processMetrics,
    backoff,
    giveUpAfterMs,
    keepGoing,
  })) {
    t.strictSame(documented.get(name), value, name)
  }
  t.equal(concurrency, availableParallelism())
  t.end()
})

t.test('without an isolation handlers run in threads', async (t) => {
  const { isolation: _, ...options } = good()
  const handler = new URL('fixtures/obedient.js', import.meta.url)
  // Only a thread rejects these options before it starts.
  await t.rejects(startWorker({ ...options, handler, execArgv: ['--no-such'] }), {
    message: /^options\.execArgv is --no-such/,
  })
})

t.test('valid options are accepted', async (t) => {
  const message = 'nothing is wrong with these options'
  await t.rejects(startWorker(good()), { message })
  const giveUpAfterMs = Number.POSITIVE_INFINITY
  await t.rejects(startWorker({ ...good(), giveUpAfterMs, keepGoing: true }), { message })
})

t.test('error messages never contain the token', async (t) => {
  const token = 'secret'.repeat(1000)
  const error = await startWorker({ ...good(), token }).catch((error: unknown) => String(error))
  t.notMatch(error, 'secret')
})

t.test('a failed start closes the isolation', async (t) => {
  const isolation = new ManualIsolation()
  await t.rejects(startWorker({ ...good(), isolation, keepAliveMs: -1 }))
  t.equal(isolation.isClosed, isolation.isStarted)
})

t.test('a signal aborts a start whose handler never loads', async (t) => {
  const isolation = new ManualIsolation()
  const controller = new AbortController()
  isolation.start = () => new Promise<void>(() => controller.abort(new Error('enough')))
  const starting = startWorker({ ...good(), isolation }, controller)
  await t.rejects(starting, { code: 'CLIENT_ABORTED', cause: { message: 'enough' } })
  t.equal(isolation.isClosed, true)
})

t.test('an aborted signal prevents the start', async (t) => {
  const isolation = new ManualIsolation()
  const signal = AbortSignal.abort()
  await t.rejects(startWorker({ ...good(), isolation }, { signal }), { code: 'CLIENT_ABORTED' })
  t.equal(isolation.isStarted, false)
})

// ---- startup

t.test('a worker that has not started is idle and does not connect', async (t) => {
  await using world = new World()
  const worker = world.make()
  await world.rest()
  t.equal(worker.mode, 'idle')
  t.equal(worker.isConnected, false)
  t.strictSame(world.coordinator.hellos, [])
  t.match(await worker.metrics.text(), 'tenure_worker_slots 1')
})

t.test('a worker exposes its name, queues and concurrency', async (t) => {
  await using world = new World({ queues: ['mail'], concurrency: 3 })
  const worker = world.make()
  t.strictSame([worker.name, worker.queues, worker.concurrency], ['me', ['mail'], 3])
})

t.test('a worker stopped before its start cannot start', async (t) => {
  await using world = new World()
  const worker = world.make()
  await worker.stop()
  t.equal(worker.mode, 'stopped')
  await t.rejects(worker.start(), { code: 'CLIENT_ABORTED' })
  t.equal(world.isolation.isStarted, false)
  t.equal(worker.mode, 'stopped')
})

t.test('stop while the handler is loaded ends the start', async (t) => {
  await using world = new World()
  world.isolation.start = () => new Promise(() => undefined)
  const worker = world.make()
  const rejected = t.rejects(worker.start(), { code: 'CLIENT_ABORTED' })
  await worker.stop()
  await rejected
  t.equal(worker.mode, 'stopped')
  t.equal(world.isolation.isClosed, true)
  t.strictSame(world.coordinator.hellos, [])
})

t.test('stop while connecting ends the start', async (t) => {
  await using world = new World()
  world.coordinator.isDown = true
  const worker = world.make()
  const rejected = t.rejects(worker.start(), { code: 'CLIENT_ABORTED' })
  await world.advance(60_000)
  await worker.stop()
  await rejected
  t.equal(worker.mode, 'stopped')
  await world.rest()
  t.equal(world.clock.timers, 0)
  t.equal(world.network.size, 0)
})

t.test('stop before the welcome arrives closes the connection', async (t) => {
  await using world = new World()
  world.delayMs = 100
  const worker = world.make()
  const started = worker.start().catch((error: unknown) => error)
  await world.advance(150)
  t.equal(world.coordinator.hellos.length, 1)
  await worker.stop()
  t.match(await started, { code: 'CLIENT_ABORTED' })
  await world.advance(1000)
  t.equal(world.network.size, 0)
  t.strictSame(world.coordinator.all('lease'), [])
})

t.test('a worker can be started only once', async (t) => {
  await using world = await World.create()
  await t.rejects(world.worker.start(), { message: 'a worker can be started only once' })
  t.equal(world.worker.mode, 'leasing', 'and the running worker continues')
  t.equal(world.coordinator.hellos.length, 1)
})
