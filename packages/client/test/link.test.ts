import type { Answer } from '@tenure/protocol'
import { QuietChecks, Random, SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { formatEndpoint, parseEndpoint } from '../src/connection/endpoint.js'
import { IdMap } from '../src/id-map.js'
import type { TenureError } from '../src/index.js'
import { Deadlines } from '../src/link/deadlines.js'
import { type PendingRequest, RequestTable } from '../src/link/request-table.js'

/** The table alone, without a socket or a clock. */
function pending(table: RequestTable, retry = true): PendingRequest {
  const request: PendingRequest = {
    id: table.takeId(),
    kind: 'ping',
    requestId: undefined,
    frame: Buffer.of(),
    retry,
    isPoll: false,
    maySend: true,
    wasSent: false,
    sent: () => undefined,
    settle: (_outcome: Answer | TenureError) => undefined,
  }
  table.add(request)
  return request
}

/** The limits of a coordinator. */
const taking = (requestsInFlightMax: number) => ({
  requestsInFlightMax,
  pollsPerConnectionMax: 1,
})
const idOf = (request: PendingRequest | undefined) => request?.id

t.test('nothing is sent without a connection, and one request is reserved for a probe', (t) => {
  const table = new RequestTable()
  const requests = [pending(table), pending(table), pending(table)]
  t.equal(table.next(), undefined)
  t.equal(table.probe(), undefined)
  table.connected(taking(3))
  t.equal(table.next(), requests[0])
  t.equal(table.next(), requests[1])
  t.equal(table.next(), undefined)
  t.equal(table.probe(), 4)
  t.equal(table.probe(), undefined)
  t.strictSame(table.answered(4), { known: true, request: undefined })
  t.equal(table.next(), undefined)
  t.strictSame(table.answered(1), { known: true, request: requests[0] })
  t.equal(table.next(), requests[2])
  t.end()
})

t.test('with a limit of one request, the probe waits', (t) => {
  const table = new RequestTable()
  const request = pending(table)
  table.connected(taking(1))
  t.equal(table.next(), request)
  t.equal(table.probe(), undefined)
  table.answered(request.id)
  t.equal(table.probe(), 2)
  t.end()
})

t.test('an abandoned request leaves the queue, or keeps its id without an owner', (t) => {
  const table = new RequestTable()
  const [first, second, third] = [pending(table), pending(table), pending(table)]
  table.connected(taking(2))
  t.equal(table.next(), first)
  table.abandon(first)
  table.abandon(second)
  t.equal(table.next(), undefined)
  t.strictSame(table.answered(1), { known: true, request: undefined })
  t.strictSame(table.answered(1), { known: true, request: undefined }, 'a second answer')
  t.strictSame(table.answered(3), { known: false, request: undefined }, 'it was not sent')
  t.equal(table.next(), third)
  t.end()
})

t.test('after a lost connection, requests sent before come first, in order', (t) => {
  const table = new RequestTable()
  const retries = [true, false, true, true, true]
  const requests = retries.map((retry) => pending(table, retry))
  table.connected(taking(5))
  for (let sent = 0; sent < 4; sent++) table.next()
  table.abandon(requests[2]!)
  t.strictSame(table.connectionLost().map(idOf), [2])
  t.equal(table.next(), undefined, 'not before the next connection')
  t.strictSame(table.answered(1), { known: false, request: undefined })
  table.connected(taking(5))
  t.strictSame([table.next(), table.next(), table.next(), table.next()].map(idOf), [
    1,
    4,
    5,
    undefined,
  ])
  t.end()
})

t.test('an endpoint is a host and a port, 7411 by default', (t) => {
  const cases = [
    ['127.0.0.1:9', '127.0.0.1', 9, '127.0.0.1:9'],
    ['tenure.example', 'tenure.example', 7411, 'tenure.example:7411'],
    ['[::1]:80', '::1', 80, '[::1]:80'],
    ['[fe80::1%eth0]', 'fe80::1%eth0', 7411, '[fe80::1%eth0]:7411'],
  ] as const
  for (const [text, host, port, formatted] of cases) {
    t.strictSame(parseEndpoint(text, 'endpoint'), { host, port })
    t.equal(formatEndpoint({ host, port }), formatted)
  }
  for (const text of [
    '',
    ':80',
    'a:0',
    'a:65536',
    'a:b',
    'http://a:80',
    'a b',
    '::1',
    undefined,
    7,
  ]) {
    t.throws(() => parseEndpoint(text, 'endpoint'), { code: 'CLIENT_BAD_ARGUMENT' }, String(text))
  }
  t.end()
})

// ---- deadlines

interface NamedCall {
  readonly name: string
  readonly id: number
  dueMs: number
}

class World {
  readonly clock = new SimulatedClock()
  readonly over: string[] = []
  readonly #deadlines = new Deadlines<NamedCall>(this.clock, 1000, ({ name }) => {
    this.over.push(name)
    this.onOver(name)
  })
  readonly #calls = new Map<string, NamedCall>()
  onOver: (name: string) => void = () => {}

  add(name: string, timeoutMs: number): void {
    const call = { name, id: this.#calls.size, dueMs: 0 }
    this.#calls.set(name, call)
    this.#deadlines.add(call, timeoutMs)
  }

  remove(name: string, timeoutMs: number): void {
    const neverAdded = { name, id: this.#calls.size, dueMs: 0 }
    this.#deadlines.remove(this.#calls.get(name) ?? neverAdded, timeoutMs)
  }

  clear(): void {
    this.#deadlines.clear()
  }
}

t.test('each call times out separately, with one timer per timeout', async (t) => {
  const world = new World()
  const { clock, over } = world
  world.add('first', 1000)
  await clock.advance(400)
  world.add('second', 1000)
  world.add('short', 100)
  t.equal(clock.timers, 2)
  await clock.advance(99)
  t.same(over, [])
  await clock.advance(1)
  t.same(over, ['short'])
  await clock.advance(500)
  t.same(over, ['short', 'first'])
  await clock.advance(399)
  t.same(over, ['short', 'first'])
  await clock.advance(1)
  t.same(over, ['short', 'first', 'second'])
  t.equal(clock.timers, 0)
})

t.test('a call that has ended does not time out', async (t) => {
  const world = new World()
  const { clock, over } = world
  world.add('first', 1000)
  world.add('second', 1000)
  world.remove('first', 1000)
  world.remove('never added', 1000)
  await clock.advance(2000)
  t.same(over, ['second'])
})

t.test(
  'the timer of an unusual timeout ends with its last call; the usual one is kept',
  async (t) => {
    const world = new World()
    const { clock, over } = world
    world.add('usual', 1000)
    world.add('unusual', 7)
    world.remove('usual', 1000)
    world.remove('unusual', 7)
    t.equal(clock.timers, 1)
    await clock.advance(600)
    world.add('later', 1000)
    t.equal(clock.timers, 1)
    await clock.advance(999)
    t.same(over, [])
    await clock.advance(1)
    t.same(over, ['later'])
  },
)

t.test('a callback may start a call with the same timeout', async (t) => {
  const world = new World()
  const { clock, over } = world
  world.onOver = (name) => {
    if (name.length < 3) world.add(`${name}, again`, 10)
  }
  world.add('a', 10)
  world.add('b', 10)
  await clock.advance(10)
  t.same(over, ['a', 'b'])
  t.equal(clock.timers, 1)
  await clock.advance(10)
  t.same(over, ['a', 'b', 'a, again', 'b, again'])
  t.equal(clock.timers, 0)
})

t.test('Infinity sets no deadline, and clear cancels all', async (t) => {
  const world = new World()
  const { clock, over } = world
  world.add('for ever', Number.POSITIVE_INFINITY)
  world.remove('for ever', Number.POSITIVE_INFINITY)
  t.equal(clock.timers, 0)
  world.add('usual', 1000)
  world.clear()
  t.equal(clock.timers, 0)
  await clock.advance(5000)
  t.same(over, [])
})

// ---- IdMap

t.test('values are found, replaced and deleted by id', async (t) => {
  const things = new IdMap<string>()
  things.set(7, 'seven')
  things.set(1000, 'a thousand')
  things.set(1000, 'a thousand, again')
  t.equal(things.size, 2)
  t.equal(things.get(7), 'seven')
  t.equal(things.get(1000), 'a thousand, again')
  t.equal(things.get(8), undefined)
  t.ok(things.has(7))
  t.notOk(things.has(263))
  t.equal(things.delete(7), 'seven')
  t.equal(things.delete(7), undefined)
  t.equal(things.delete(9999), undefined)
  t.same(things.all(), ['a thousand, again'])
  things.clear()
  t.equal(things.size, 0)
  t.equal(things.first(), undefined)
})

t.test('it behaves like a Map with increasing ids', async (t) => {
  const checks = new QuietChecks(t)
  for (let seed = 1; seed <= 8; seed++) {
    const random = new Random(seed)
    const things = new IdMap<number>()
    const model = new Map<number, number>()
    let number = random.integer(1000)
    for (let step = 0; step < 1500; step++) {
      const where = `seed ${seed}, step ${step}`
      if (random.chance(0.5)) {
        number += random.chance(0.05) ? random.integer(1000) : 1
        things.set(number, number)
        model.set(number, number)
      } else {
        const known = [...model.keys()]
        // Mostly the oldest, as answers arrive; sometimes any.
        const at = random.chance(0.7) ? 0 : random.integer(known.length + 1)
        const key = known[at] ?? number + 1
        checks.equal(things.delete(key), model.get(key), where)
        model.delete(key)
      }
      const [first] = model.values()
      checks.equal(things.first(), first, where)
      checks.equal(things.size, model.size, where)
    }
    t.same(things.all(), [...model.values()])
  }
  t.ok(checks.count > 25_000)
})

t.test('values are ordered by id, even if a lower id is added late', async (t) => {
  const things = new IdMap<number>()
  for (const number of [5000, 900, 901, 2000, 1]) things.set(number, number)
  t.same(things.all(), [1, 900, 901, 2000, 5000])
  t.equal(things.first(), 1)
  things.delete(1)
  things.set(899, 899)
  t.equal(things.first(), 899)
})

t.test('ids on either side of the first page are accepted', async (t) => {
  for (const beside of [300, 511, 256]) {
    const things = new IdMap<number>()
    for (const number of [290, 293]) things.set(number, number)
    things.delete(290)
    t.equal(things.get(beside), undefined)
    t.equal(things.delete(beside), undefined)
    things.set(beside, beside)
    const numbers = [293, beside].sort((one, other) => one - other)
    t.same(things.all(), numbers)
    t.equal(things.first(), numbers[0])
    t.equal(things.delete(293), 293)
    t.equal(things.first(), beside)
  }
})

t.test('after 2^32 ids wrap around, and order after the previous ones', async (t) => {
  const things = new IdMap<number>()
  const numbers = [2 ** 32 - 700, 2 ** 32 - 1, 1, 2, 600]
  for (const number of numbers.toReversed()) things.set(number, number)
  t.same(things.all(), numbers)
  t.equal(things.first(), 2 ** 32 - 700)
})
