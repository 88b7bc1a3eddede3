import { Events, SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { EndpointOrder } from '../src/connection/endpoint-order.js'
import { connect, type FailedAttempt, type LinkObserver, openLink } from '../src/index.js'
import { ScriptedServer } from './scripted-server.js'
import { quick, rejection } from './world.js'

// ---- the order, without a network

const [a, b, c] = ['a', 'b', 'c'].map((host) => ({ host, port: 1 })) as [Host, Host, Host]
type Host = { readonly host: string; readonly port: number }

/** Fails the current endpoint each time. Returns the tried hosts; `|` is the end of a round. */
function attempts(order: EndpointOrder, answers: readonly (string | undefined)[]): string {
  return answers
    .map((active) => {
      const { host } = order.current
      return order.next(active) ? host : `${host}|`
    })
    .join('')
}

const silent = undefined

t.test('each round tries every endpoint once, in order', (t) => {
  const order = new EndpointOrder([a, b, c])
  t.equal(attempts(order, [silent, silent, silent, silent, silent, silent]), 'abc|abc|')
  order.skip()
  t.equal(attempts(order, [silent, silent, silent, silent]), 'bca|b')
  t.equal(attempts(new EndpointOrder([a]), [silent, silent]), 'a|a|')
  t.equal(attempts(new EndpointOrder([a, a, b]), [silent, silent, silent, silent]), 'aab|a')
  t.end()
})

t.test('the endpoint of the active coordinator is next, and then the untried ones', (t) => {
  t.equal(attempts(new EndpointOrder([a, b, c]), ['c:1', silent, silent]), 'acb|')
  t.equal(attempts(new EndpointOrder([a, b, c]), ['C:1', silent]), 'ac')
  const v6 = { host: '::1', port: 1 }
  t.equal(attempts(new EndpointOrder([a, b, v6]), ['[::1]:1', silent]), 'a::1')
  t.end()
})

t.test('an address that is not configured is never followed', (t) => {
  for (const active of ['d:1', 'c:2', 'c', '', 'c:1 ', 'a:1', 'http://c:1', 'x@c:1']) {
    t.equal(attempts(new EndpointOrder([a, b, c]), [active, silent, silent]), 'abc|', active)
  }
  t.end()
})

t.test('standbys that name each other are each reached twice in a round at most', (t) => {
  const cycle = (endpoints: readonly Host[], count: number) => {
    const order = new EndpointOrder(endpoints)
    let tried = ''
    while (tried.replaceAll('|', '').length < count) {
      const { host } = order.current
      const next = endpoints[(endpoints.indexOf(order.current as Host) + 1) % endpoints.length]
      tried += order.next(`${next?.host}:1`) ? host : `${host}|`
    }
    return tried
  }
  t.equal(cycle([a, b], 7), 'aba|bab|a')
  t.equal(cycle([a, b, c], 9), 'abca|bcab|c')
  t.end()
})

t.test('an endpoint that failed is tried once more when a standby names it', (t) => {
  t.equal(attempts(new EndpointOrder([a, b, c]), [silent, 'a:1', silent, 'a:1']), 'abac|')
  t.end()
})

// ---- clients

function watched() {
  const failed = new Events<FailedAttempt>()
  const connected = new Events<string>()
  const observer: LinkObserver = {
    attemptFailed: failed.add,
    connected: (_, endpoint) => connected.add(endpoint),
  }
  return { failed, connected, observer }
}

t.test(
  'after NOT_ACTIVE the client connects to the active coordinator without a delay',
  async (t) => {
    const { failed, connected, observer } = watched()
    await using active = await ScriptedServer.start({ answer: () => ({ kind: 'pong' }) })
    await using unasked = await ScriptedServer.start()
    await using standby = await ScriptedServer.start({
      greet: (peer) => peer.refuse('NOT_ACTIVE', active.endpoint),
    })
    const endpoints = [standby.endpoint, unasked.endpoint, active.endpoint]
    await using tenure = await connect({ endpoints, observer, backoff: { initialMs: 60_000 } })
    await tenure.ping()
    t.strictSame(connected.seen, [active.endpoint])
    t.match(failed.seen, [
      { endpoint: standby.endpoint, retryInMs: 0, error: { active: active.endpoint } },
    ])
    t.equal(unasked.peers.length, 0)
  },
)

t.test('a token is not sent to an address that only a standby named', async (t) => {
  await using trap = await ScriptedServer.start()
  await using standby = await ScriptedServer.start({
    greet: (peer) => peer.refuse('NOT_ACTIVE', trap.endpoint),
  })
  const options = { endpoints: [standby.endpoint], token: 'secret', connectTimeoutMs: 50 }
  const error = await rejection(connect({ ...options, backoff: quick }))
  t.match(error, { code: 'CLIENT_UNREACHABLE', cause: { reason: 'NOT_ACTIVE' } })
  t.ok(standby.peers.length > 1, 'it is tried again')
  t.equal(trap.peers.length, 0)
})

t.test('standbys without an active coordinator are asked again after a pause', async (t) => {
  const clock = new SimulatedClock()
  const { failed, observer } = watched()
  let isActive = false
  const servers: ScriptedServer[] = []
  for (const other of [1, 0]) {
    servers.push(
      await ScriptedServer.start({
        greet: (peer) => {
          if (isActive && other === 0) peer.welcome()
          else peer.refuse('NOT_ACTIVE', servers[other]?.endpoint)
        },
      }),
    )
  }
  const endpoints = servers.map(({ endpoint }) => endpoint)
  const linking = openLink({ endpoints, clock, observer, random: { next: () => 0, id: () => 'x' } })
  for (const [attempt, pause] of [0, 0, 50, 0, 0, 100].entries()) {
    const { retryInMs } = await failed.at(attempt + 1)
    t.equal(retryInMs, pause, `attempt ${attempt + 1}`)
    if (attempt === 5) isActive = true
    await clock.advance(pause)
  }
  await failed.at(7)
  await clock.advance(0)
  await using link = await linking
  t.ok(link.isConnected)
  for (const server of servers) await server[Symbol.asyncDispose]()
})

t.test('a client moves to the next coordinator when its own steps down', async (t) => {
  const { connected, observer } = watched()
  await using second = await ScriptedServer.start()
  await using first = await ScriptedServer.start({
    answer: ({ request }) => (request.kind === 'ping' ? { kind: 'pong' } : undefined),
  })
  await using unasked = await ScriptedServer.start()
  const endpoints = [first.endpoint, unasked.endpoint, second.endpoint]
  const backoff = { initialMs: 60_000, maxMs: 60_000 }
  await using tenure = await connect({ endpoints, observer, backoff })
  await tenure.ping()
  const submitted = tenure.submit(Buffer.from('work'), { requestId: 'r1' })
  const unsafe = rejection(tenure.submit(Buffer.from('work'), { requestId: null }))
  await first.request('submit')
  await first.request('submit')
  first.latest.refuse('NOT_ACTIVE', second.endpoint)
  t.match(await unsafe, { code: 'CLIENT_DISCONNECTED', outcomeUnknown: true })
  const again = await second.request('submit')
  again.answer({ kind: 'submitted', taskId: 4, known: true })
  t.strictSame(await submitted, { taskId: 4, known: true })
  t.strictSame(connected.seen, [first.endpoint, second.endpoint])
  t.equal(unasked.peers.length, 0)
})

t.test('coordinators that step down without an answer are not flooded', async (t) => {
  const clock = new SimulatedClock()
  const { connected, observer } = watched()
  const servers: ScriptedServer[] = []
  for (const other of [1, 0]) {
    servers.push(
      await ScriptedServer.start({
        greet: (peer) => {
          peer.welcome()
          peer.refuse('NOT_ACTIVE', servers[other]?.endpoint)
        },
      }),
    )
  }
  const [one, two] = servers.map(({ endpoint }) => endpoint)
  const lost = new Events<unknown>()
  const endpoints = [one!, two!]
  await using link = await openLink({
    endpoints,
    clock,
    random: { next: () => 0, id: () => 'x' },
    observer: { ...observer, disconnected: lost.add },
  })
  const pauses: number[] = []
  for (let losses = 1; losses <= 6; losses++) {
    await lost.at(losses)
    pauses.push(clock.nextTimerMs ?? -1)
    await clock.advanceToNextTimer()
    await connected.at(losses + 1)
  }
  t.strictSame(pauses, [0, 0, 50, 0, 0, 100])
  await link.close()
  for (const server of servers) await server[Symbol.asyncDispose]()
})

// ---- another log

t.test('a client that is welcomed by another log refuses it for good', async (t) => {
  const { failed, connected, observer } = watched()
  const [own, foreign] = ['ab'.repeat(16), 'cd'.repeat(16)]
  const first = await ScriptedServer.start({ log: own })
  await using other = await ScriptedServer.start({ log: foreign })
  const endpoints = [first.endpoint, other.endpoint]
  await using tenure = await connect({ endpoints, observer, backoff: quick })
  const sent = rejection(tenure.get(1))
  await first.request('get')
  await first[Symbol.asyncDispose]()
  t.match(await sent, { code: 'CLIENT_DISCONNECTED', cause: { code: 'CLIENT_OTHER_LOG' } })
  const error = await rejection(tenure.ping())
  t.equal(error.code, 'CLIENT_OTHER_LOG')
  t.match(error.message, own)
  t.match(error.message, foreign)
  t.match(error.message, other.endpoint)
  t.equal(failed.seen.at(-1)?.retryInMs, undefined)
  t.strictSame(connected.seen, endpoints.slice(0, 1))
  await rejection(tenure.submit(Buffer.from('work')))
  const endless = function* () {
    for (;;) yield { payload: Buffer.from('work') }
  }
  const submitting = (async () => {
    for await (const { ok } of tenure.submitMany(endless())) t.notOk(ok)
  })()
  t.equal((await rejection(submitting)).code, 'CLIENT_OTHER_LOG', 'the loop ends')
  t.equal(other.peers.length, 1, 'no call tries again')
  t.equal(other.unanswered.length, 0, 'it gets no request')
})

t.test('the same log under another epoch is accepted', async (t) => {
  const { connected, observer } = watched()
  let epoch = 1
  await using server = await ScriptedServer.start({
    greet: (peer) => peer.welcome({ epoch: epoch++ }),
    answer: () => ({ kind: 'pong' }),
  })
  await using tenure = await connect({ endpoints: [server.endpoint], observer, backoff: quick })
  server.latest.cut()
  await connected.at(2)
  await tenure.ping()
  t.equal(epoch, 3)
})
