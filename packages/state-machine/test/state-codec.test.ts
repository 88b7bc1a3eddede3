import { readFileSync } from 'node:fs'
import {
  checkInvariants,
  createState,
  encodeState,
  hashState,
  leasedTasks,
  position,
  type State,
  StateDecoder,
  skipTo,
  waitingTasks,
} from '@tenure/state-machine'
import { pack, unpackMultiple } from 'msgpackr'
import t from 'tap'
import { allTasks, World } from './world.js'

/** Something of everything. */
function history(): World {
  const world = new World()
  const waiting = world.create({ queue: 'mail', requestId: 'ü 1', notBefore: world.at + 5000 })
  const completed = world.leased({ requestId: 'r2', payload: Buffer.alloc(200, 7) }).taskId
  world.complete(completed, { result: Buffer.from('result'), reportId: 'p-1' })
  world.complete(world.leased().taskId)
  const retried = world.leased({
    retryPolicy: { maxRetries: 2, backoff: { kind: 'exponential', initialMs: 10, maxMs: 100 } },
  })
  world.fail(retried.taskId, { reportId: 'p-2' })
  const again = world.leased()
  world.expire(again.taskId)
  world.at += 10
  world.grant(again.taskId, { workerId: 'w-2' })
  world.cancel(again.taskId, again.leaseId)
  world.kill(world.leased().taskId, 'no more')
  world.kill(waiting, '')
  world.create({ payload: new Uint8Array() })
  world.create({ notBefore: world.at + 50 })
  skipTo(world.state, 1000)
  world.grant(world.create(), { leaseExpiry: world.at + 1 })
  return world
}

function decode(chunks: Iterable<Uint8Array>): State {
  const decoder = new StateDecoder()
  for (const chunk of chunks) decoder.add(chunk)
  return decoder.finish()
}

t.test('a state and its encoding are equal: tasks, order, hash', (t) => {
  const { state } = history()
  for (const chunkBytesMax of [1, 100, 1000, 2 ** 20]) {
    const restored = decode(encodeState(state, { chunkBytesMax }))
    checkInvariants(restored)
    t.strictSame(allTasks(restored), allTasks(state))
    t.strictSame([...waitingTasks(restored, 'default')], [...waitingTasks(state, 'default')])
    t.strictSame([...leasedTasks(restored)], [...leasedTasks(state)])
    t.strictSame(position(restored), position(state))
    t.equal(hashState(restored), hashState(state))
  }
  t.end()
})

t.test('golden state: kept for ever', (t) => {
  const golden = JSON.parse(
    readFileSync(new URL('../../test/fixtures/state-v1.json', import.meta.url), 'utf8'),
  )
  const { state } = history()
  t.equal(Buffer.concat([...encodeState(state)]).toString('hex'), golden.bytes)
  t.equal(hashState(state), golden.hash)
  const restored = decode([Buffer.from(golden.bytes, 'hex')])
  t.equal(hashState(restored), golden.hash)
  t.strictSame(allTasks(restored), allTasks(state))
  t.end()
})

t.test('chunks are as large as allowed; only a task that is larger makes a larger one', (t) => {
  const world = new World()
  for (let i = 0; i < 100; i++) world.create({ payload: Buffer.alloc(i === 50 ? 10_000 : 100) })
  const chunks = [...encodeState(world.state, { chunkBytesMax: 1000 })]
  const large = chunks.filter(({ length }) => length > 1000)
  t.equal(large.length, 1)
  t.ok(large.every(({ length }) => length < 10_200))
  t.ok(chunks.length > 10 && chunks.length < 25)
  t.end()
})

t.test('chunks are of 256 KiB where nothing else is asked for', (t) => {
  const world = new World()
  for (let i = 0; i < 100; i++) world.create({ payload: Buffer.alloc(10_000) })
  const lengths = [...encodeState(world.state)].map(({ length }) => length)
  t.equal(lengths.length, 4)
  t.ok(lengths.slice(0, -1).every((length) => length > 250_000 && length <= 2 ** 18))
  t.end()
})

t.test('an empty state is a state', (t) => {
  const restored = decode(encodeState(createState()))
  t.strictSame(position(restored), { lastLsn: 0, lastAt: 0 })
  t.equal(hashState(restored), hashState(createState()))
  t.end()
})

t.test('the hash tells states apart that differ in anything', (t) => {
  const hashes = new Set<string>()
  const variants: ((world: World) => unknown)[] = [
    () => undefined,
    (world) => skipTo(world.state, 2000),
    (world) => world.create(),
    (world) => world.create({ payload: Buffer.from('other') }),
    (world) => world.create({ queue: 'other' }),
    (world) => world.create({ requestId: 'other' }),
    (world) => world.create({ notBefore: 0 }),
    (world) => world.create({ notBefore: 1 }),
    (world) => world.create({ executionWindowMs: 1 }),
    (world) => world.create({ at: world.at + 1 }),
    (world) =>
      world.create({ retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 0 } } }),
    (world) =>
      world.create({ retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed', delayMs: 9 } } }),
    (world) =>
      world.create({
        retryPolicy: { maxRetries: 0, backoff: { kind: 'exponential', initialMs: 9, maxMs: 0 } },
      }),
    (world) =>
      world.create({
        retryPolicy: { maxRetries: 0, backoff: { kind: 'exponential', initialMs: 9, maxMs: 9 } },
      }),
    (world) => world.forget(5),
  ]
  for (const vary of variants) {
    const world = history()
    vary(world)
    hashes.add(hashState(world.state))
  }
  t.equal(hashes.size, variants.length)
  t.end()
})

const values = unpackMultiple(Buffer.concat([...encodeState(history().state)])) as unknown[][]

t.test('what is no encoded state is refused', (t) => {
  const refused = (sequence: readonly unknown[], message: RegExp) =>
    t.throws(() => decode(sequence.map((value) => pack(value))), {
      code: 'STATE_MALFORMED_CHUNK',
      message,
    })
  const [head = [], ...tasks] = values
  refused([], /empty/)
  refused([[1, 2, 3], ...tasks], /head is none/)
  for (const noHead of [7, null, [], ['a'], { 0: 2 }]) refused([noHead, ...tasks], /head is none/)
  refused([head.with(0, 2), ...tasks], /version is 2; this software reads version 1/)
  refused([head.with(4, [1, 2]), ...tasks], /head is none: its counters/)
  refused([head, ...tasks.slice(1)], /1 tasks are missing/)
  refused([head, ...tasks, tasks[0]], /more tasks/)
  refused([head, tasks[0], tasks[0], ...tasks.slice(2)], /there twice/)
  refused([head, 7, ...tasks.slice(1)], /a task is none/)
  t.throws(() => decode([Buffer.from([0xc1])]), { code: 'STATE_MALFORMED_CHUNK' })
  for (const chunk of encodeState(history().state)) {
    t.throws(() => decode([chunk.subarray(0, -1)]), { code: 'STATE_MALFORMED_CHUNK' })
  }
  t.end()
})

t.test('a field of another kind is refused, whichever it is', (t) => {
  const [head = [], ...tasks] = values
  const decodeWith = (index: number, task: unknown) =>
    decode([head, ...tasks.with(index, task as unknown[])].map((v) => pack(v)))
  let tried = 0
  for (const [index, task] of tasks.entries()) {
    for (let field = 0; field < task.length; field++) {
      for (const wrong of [-1, 1.5, { a: 1 }, true]) {
        t.throws(() => decodeWith(index, task.with(field, wrong)), {
          code: 'STATE_MALFORMED_CHUNK',
        })
        tried++
      }
    }
    const attempts = task.at(-1) as unknown[][]
    for (const [place, attempt] of attempts.entries()) {
      for (let field = 0; field < attempt.length; field++) {
        const bent = attempts.with(place, attempt.with(field, { a: 1 }))
        t.throws(() => decodeWith(index, task.with(-1, bent)), { code: 'STATE_MALFORMED_CHUNK' })
        tried++
      }
    }
  }
  t.comment(`${tried} bent tasks`)
  t.end()
})

t.test('what contradicts itself is refused', (t) => {
  const [head = [], ...tasks] = values
  const refused = (index: number, task: unknown[], message: RegExp) =>
    t.throws(() => decode([head, ...tasks.with(index, task)].map((value) => pack(value))), {
      code: 'STATE_MALFORMED_CHUNK',
      message,
    })
  const leased = tasks.findIndex((task) => task[1] === 1)
  const task = tasks[leased] ?? []
  refused(leased, task.with(1, 5), /a task is none: 5 is not from 0 to 4/)
  refused(leased, task.with(-1, []), /LEASED without a lease/)
  refused(leased, task.with(-1, Array(33).fill((task.at(-1) as unknown[])[0])), /too many attempts/)
  refused(leased, task.with(11, 'r2'), /the request_id of another task/)
  const [attempt = []] = task.at(-1) as unknown[][]
  refused(leased, task.with(-1, [attempt.with(4, 5)]), /a task is none: 5 is not from 0 to 4/)
  const alone = [head.with(3, 1), task.with(-1, [])]
  t.throws(() => decode(alone.map((value) => pack(value))), {
    code: 'STATE_MALFORMED_CHUNK',
    message: /LEASED without a lease/,
  })
  t.end()
})

t.test('a decoder gives one state', (t) => {
  const decoder = new StateDecoder()
  for (const chunk of encodeState(createState())) decoder.add(chunk)
  decoder.finish()
  t.throws(() => decoder.finish(), /make a new one/)
  t.throws(() => decoder.add(new Uint8Array()), /make a new one/)
  t.end()
})
