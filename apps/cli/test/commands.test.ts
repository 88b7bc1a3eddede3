import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { golden, normalise } from './golden.js'
import { transcript, type } from './terminal.js'
import { World } from './world.js'

const never = { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } } as const

/** Runs commands and keeps a transcript. */
class Session {
  readonly #world: World
  readonly #lines: string[] = []

  constructor(world: World) {
    this.#world = world
  }

  static async start(t: Test): Promise<Session> {
    return new Session(await World.start(t, { knobs: { retryPolicy: never } }))
  }

  get worker(): World {
    return this.#world
  }

  async type(...args: string[]) {
    const said = await type(args, { env: this.#world.env })
    this.#lines.push(transcript(args, said))
    return said
  }

  get text(): string {
    return normalise(this.#lines.join('\n'))
  }
}

t.test('the output of submit, get and list', async (t) => {
  const session = await Session.start(t)
  await session.type('submit', 'hello', '--queue', 'mail', '--request-id', 'r-1')
  await session.type('submit', 'hello', '--queue', 'mail', '--request-id', 'r-1')
  await session.type('submit', 'other', '--queue', 'mail', '--request-id', 'r-1')
  await session.type('submit', 'hello', '--request-id', 'r-2', '--json')
  await session.type('get', '1')
  await session.type('get', '1', '--json')
  await session.type('get', '1', '--result')
  await session.type('get', '9')
  await (await session.worker.lease('mail')).fail('no room')
  await session.worker.lease()
  await session.type('list')
  await session.type('list', '--json')
  await session.type('list', '--limit', '1')
  await session.type('list', '--state', 'DEAD')
  golden(t, 'commands/submit-get-list', session.text)
})

t.test('the output of kill and resubmit for several tasks', async (t) => {
  const session = await Session.start(t)
  for (const id of ['a', 'b', 'c']) await session.worker.tenure('submit', id, '--request-id', id)
  await (await session.worker.lease()).complete('done')
  await session.type('kill', '2', '--reason', 'not needed')
  await session.type('kill', '2', '1', '99', '3')
  await session.type('kill', '2', '99', '--json')
  await session.type('resubmit', '2')
  await session.type('resubmit', '2', '1', '99')
  await session.type('list')
  await session.type('resubmit', '2', '3', '1', '--json')
  golden(t, 'commands/kill-resubmit', session.text)
})

t.test('a resubmitted task has the same payload and options', async (t) => {
  const session = await Session.start(t)
  await session.type('submit', 'the payload', '--queue', 'mail', '--execution-window', '7s')
  await (await session.worker.lease('mail')).fail('no room')
  await session.type('resubmit', '1')
  const [before, after] = await Promise.all(
    ['1', '4'].map(async (id) => JSON.parse((await session.type('get', id, '--json')).stdout)),
  )
  t.match(after, {
    state: 'WAITING',
    attempt: 0,
    queue: 'mail',
    requestId: 'resubmit-1',
    payload: before.payload,
    executionWindowMs: 7000,
    retryPolicy: before.retryPolicy,
  })
})

t.test('wait shows how tasks ended, and its exit code tells whether all completed', async (t) => {
  const session = await Session.start(t)
  for (const id of ['a', 'b', 'c']) await session.worker.tenure('submit', id, '--request-id', id)
  await (await session.worker.lease()).complete('done')
  await (await session.worker.lease()).fail('no room')
  await session.type('wait', '1')
  await session.type('wait', '1', '2')
  await session.type('wait', '1', '--json')
  await session.type('wait', '99', '1')
  await session.type('wait', '3', '--timeout', '100ms')
  await session.type('wait', '3', '1', '--timeout', '100ms', '--json')
  await session.type('submit', 'd', '--request-id', 'd', '--wait-timeout', '100ms')
  golden(t, 'commands/wait', session.text)
})

t.test('the output of why, stats and workers', async (t) => {
  const session = await Session.start(t)
  await session.type('workers')
  await session.worker.tenure('submit', 'a', '--request-id', 'a', '--queue', 'mail')
  await session.worker.tenure('submit', 'b', '--request-id', 'b', '--queue', 'unserved')
  await session.worker.tenure('submit', 'c', '--request-id', 'c', '--delay', '1h')
  await session.worker.lease('mail')
  for (const id of ['1', '2', '3', '99']) await session.type('why', id)
  await session.type('why', '2', '--json')
  await session.type('stats')
  await session.type('stats', '--json')
  await session.type('workers')
  await session.type('workers', '--json')
  golden(t, 'commands/why-stats-workers', session.text)
})

t.test('watch prints a line per interval', async (t) => {
  const session = await Session.start(t)
  await session.worker.tenure('submit', 'a', '--request-id', 'a')
  await session.worker.clock.advance(10)
  await session.type('watch', '--interval', '100ms', '--count', '2')
  await session.type('watch', '--interval', '100ms', '--count', '1', '--json')
  golden(t, 'commands/watch', session.text)
})

t.test('submitting the same lines again returns the same tasks', async (t) => {
  const session = await Session.start(t)
  const path = join(t.testdir(), 'lines')
  writeFileSync(path, 'one\n\ntwo\r\nthree')
  const submit = async (...args: string[]) => session.type('submit', '--lines', path, ...args)
  await submit('--request-id-prefix', 'p', '--queue', 'mail')
  await submit('--request-id-prefix', 'p', '--queue', 'mail', '--json')
  await submit('--request-id-prefix', 'p', '--queue', 'mail', '--from-line', '4')
  writeFileSync(path, 'one\n\nTWO\nthree\nfour')
  await submit('--request-id-prefix', 'p', '--queue', 'mail')
  await submit('--request-id-prefix', 'p', '--queue', 'mail', '--json')
  await session.type('list', '--json')
  golden(t, 'commands/submit-lines', session.text.replaceAll(path, '<file>'))
})

t.test('flags that contradict --lines are rejected', async (t) => {
  const session = await Session.start(t)
  const path = join(t.testdir({ lines: 'one' }), 'lines')
  const lines = ['submit', '--lines', path]
  await session.type(...lines, 'payload')
  await session.type(...lines, '--payload-file', path)
  await session.type(...lines, '--request-id', 'r')
  await session.type(...lines, '--wait')
  await session.type(...lines, '--wait-timeout', '1s')
  await session.type(...lines, '--request-id-prefix', 'p'.repeat(112))
  await session.type('submit', 'x', '--request-id-prefix', 'p')
  await session.type('submit', '--lines', '/nowhere')
  await session.type('submit', '--lines', '/')
  golden(t, 'commands/submit-lines-refused', session.text.replaceAll(path, '<file>'))
})

t.test('a missing role is reported with the role to set', async (t) => {
  const tokens = [
    { token: 'producer', roles: ['produce'] as const },
    { token: 'all', roles: ['produce', 'work', 'admin'] as const },
  ]
  const world = await World.start(t, { tokens: tokens.toReversed() })
  const said = async (token: string | undefined, ...args: string[]) => {
    const env = token === undefined ? world.env : { ...world.env, TENURE_TOKEN: token }
    return transcript(args, await type(args, { env }))
  }
  const lines = [
    await said(undefined, 'stats'),
    await said(undefined, 'workers'),
    await said('producer', 'workers'),
    await said('producer', 'kill', '1'),
    await said('all', 'kill', '1'),
    await said('producer', 'watch', '--interval', '100ms', '--count', '1'),
  ]
  golden(t, 'commands/roles', normalise(lines.join('\n')))
})
