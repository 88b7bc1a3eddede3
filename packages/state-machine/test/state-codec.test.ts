import { readFileSync } from 'node:fs'
import {
  checkInvariants,
  createState,
  encodeState,
  hashState,
  leasedTasks,
  position,
  recordLimits,
  type State,
  StateDecoder,
  StateMachineError,
  skipTo,
  waitingTasks,
} from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import { pack, unpackMultiple } from 'msgpackr'
import t from 'tap'
import { allTasks, World } from './world.js'

/** A history that contains everything. */
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

t.test('a decoded state equals the original: tasks, order, hash', (t) => {
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

t.test('golden state: kept forever', (t) => {
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

t.test('chunks have the maximum size; only a larger task makes a larger chunk', (t) => {
  const world = new World()
  for (let i = 0; i < 100; i++) world.create({ payload: Buffer.alloc(i === 50 ? 10_000 : 100) })
  const chunks = [...encodeState(world.state, { chunkBytesMax: 1000 })]
  const large = chunks.filter(({ length }) => length > 1000)
  t.equal(large.length, 1)
  t.ok(large.every(({ length }) => length < 10_200))
  t.ok(chunks.length > 10 && chunks.length < 25)
  t.end()
})

t.test('chunks have 256 KiB by default', (t) => {
  const world = new World()
  for (let i = 0; i < 100; i++) world.create({ payload: Buffer.alloc(10_000) })
  const lengths = [...encodeState(world.state)].map(({ length }) => length)
  t.equal(lengths.length, 4)
  t.ok(lengths.slice(0, -1).every((length) => length > 250_000 && length <= 2 ** 18))
  t.end()
})

t.test('an empty state can be encoded and decoded', (t) => {
  const restored = decode(encodeState(createState()))
  t.strictSame(position(restored), { lastLsn: 0, lastAt: 0 })
  t.equal(hashState(restored), hashState(createState()))
  t.end()
})

t.test('states that differ in anything have different hashes', (t) => {
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

t.test('a text that starts with a byte order mark keeps it', (t) => {
  const world = new World()
  const plain = 'a'.repeat(70)
  const marked = `\ufeff${plain}`
  world.create({ requestId: plain })
  world.create({ requestId: marked, queue: '\ufeffq' })
  const { taskId } = world.leased()
  world.expire(taskId)
  world.grant(taskId, { workerId: marked })
  world.fail(taskId, { failureReason: marked, reportId: marked })
  const restored = decode(encodeState(world.state))
  checkInvariants(restored)
  t.strictSame(allTasks(restored), allTasks(world.state))
  t.equal(hashState(restored), hashState(world.state))
  const golden = readFileSync(
    new URL('../../test/fixtures/state-bom-v1.hex', import.meta.url),
    'utf8',
  ).trim()
  t.equal(Buffer.concat([...encodeState(world.state)]).toString('hex'), golden)
  t.end()
})

t.test('encoding fails if the state changes meanwhile', (t) => {
  const world = history()
  for (const change of [
    () => world.create(),
    () => world.forget(world.nextLsn - 1),
    () => skipTo(world.state, world.nextLsn + 5),
  ]) {
    const chunks = encodeState(world.state, { chunkBytesMax: 100 })
    chunks.next()
    change()
    t.throws(() => chunks.next(), { code: 'STATE_CHANGED', message: /LSN \d+ was applied while/ })
    t.strictSame(chunks.next(), { done: true, value: undefined })
  }
  const chunks = encodeState(world.state, { chunkBytesMax: 100 })
  world.create()
  t.equal(
    hashState(decode(chunks)),
    hashState(world.state),
    'changes before the first chunk are included',
  )
  t.end()
})

t.test('chunkBytesMax must be a positive integer or absent', (t) => {
  for (const chunkBytesMax of [0, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '7' as never]) {
    t.throws(() => encodeState(createState(), { chunkBytesMax }), {
      code: 'STATE_BAD_ARGUMENT',
      message: /^chunkBytesMax is .*; it must be a whole number of 1 or more$/,
    })
  }
  t.end()
})

t.test('each state has exactly one encoding: mutated states', (t) => {
  const random = new Random(9)
  const bytes = Buffer.concat([...encodeState(history().state)])
  let states = 0
  const tried = 5000
  for (let run = 0; run < tried; run++) {
    const mutated = Buffer.from(bytes)
    for (let changes = 1 + random.integer(2); changes > 0; changes--)
      mutated[random.integer(mutated.length)] = random.integer(256)
    try {
      const restored = decode([mutated])
      states++
      // The order is part of the state, so encoding it again gives the same bytes.
      const again = Buffer.concat([...encodeState(restored)])
      if (!again.equals(mutated)) checkBroken(restored)
    } catch (error) {
      if (!(error instanceof StateMachineError)) throw error
    }
  }
  t.ok(states > tried / 20 && states < tried, `${states} of ${tried} were states`)
  t.end()
})

/** A state that is encoded differently than it was read must contain a contradiction. */
function checkBroken(state: State): void {
  try {
    checkInvariants(state)
  } catch {
    return
  }
  throw new Error('a valid state has two encodings')
}

t.test('a decoder cannot be used after an error', (t) => {
  const decoder = new StateDecoder()
  const [first = new Uint8Array()] = encodeState(history().state, { chunkBytesMax: 1 })
  decoder.add(first)
  t.throws(() => decoder.add(pack(7)), { code: 'STATE_MALFORMED_CHUNK' })
  t.throws(() => decoder.add(first), { code: 'STATE_BAD_ARGUMENT' })
  t.throws(() => decoder.finish(), { code: 'STATE_BAD_ARGUMENT' })
  t.end()
})

const values = unpackMultiple(Buffer.concat([...encodeState(history().state)])) as unknown[][]

t.test('bytes that are not an encoded state are rejected', (t) => {
  const refused = (sequence: readonly unknown[], message: RegExp) =>
    t.throws(() => decode(sequence.map((value) => pack(value))), {
      code: 'STATE_MALFORMED_CHUNK',
      message,
    })
  const [head = [], ...tasks] = values
  refused([], /empty/)
  refused([[1, 2, 3], ...tasks], /header is malformed/)
  for (const noHead of [7, null, [], ['a'], { 0: 2 }])
    refused([noHead, ...tasks], /header is malformed/)
  refused([head.with(0, 2), ...tasks], /version is 2; this release reads version 1/)
  refused([head.with(4, [1, 2]), ...tasks], /header is malformed: its number of counters/)
  refused([head, ...tasks.slice(1)], /1 tasks are missing/)
  refused([head, ...tasks, tasks[0]], /more tasks/)
  refused([head, tasks[0], tasks[0], ...tasks.slice(2)], /occurs twice/)
  refused([head, 7, ...tasks.slice(1)], /a task is malformed/)
  t.throws(() => decode([Buffer.from([0xc1])]), { code: 'STATE_MALFORMED_CHUNK' })
  for (const chunk of encodeState(history().state)) {
    t.throws(() => decode([chunk.subarray(0, -1)]), { code: 'STATE_MALFORMED_CHUNK' })
  }
  t.end()
})

t.test('every field of a wrong type is rejected', (t) => {
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

t.test('a state that contradicts itself is rejected', (t) => {
  const [head = [], ...tasks] = values
  const refused = (index: number, task: unknown[], message: RegExp) =>
    t.throws(() => decode([head, ...tasks.with(index, task)].map((value) => pack(value))), {
      code: 'STATE_MALFORMED_CHUNK',
      message,
    })
  const leased = tasks.findIndex((task) => task[1] === 1)
  const task = tasks[leased] ?? []
  refused(leased, task.with(1, 5), /a task is malformed: 5 is not from 0 to 4/)
  refused(leased, task.with(-1, []), /LEASED without a lease/)
  refused(leased, task.with(-1, Array(33).fill((task.at(-1) as unknown[])[0])), /too many attempts/)
  refused(leased, task.with(11, 'r2'), /the request_id of another task/)
  const [attempt = []] = task.at(-1) as unknown[][]
  refused(leased, task.with(-1, [attempt.with(4, 5)]), /a task is malformed: 5 is not from 0 to 4/)
  const alone = [head.with(3, 1), task.with(-1, [])]
  t.throws(() => decode(alone.map((value) => pack(value))), {
    code: 'STATE_MALFORMED_CHUNK',
    message: /LEASED without a lease/,
  })
  t.end()
})

t.test('values that no record or row can contain are rejected', (t) => {
  const [head = [], ...tasks] = values
  const refused = (index: number, field: number, wrong: unknown) => {
    const bent = tasks.with(index, (tasks[index] ?? []).with(field, wrong))
    t.throws(
      () => decode([head, ...bent].map((value) => pack(value))),
      { code: 'STATE_MALFORMED_CHUNK' },
      `field ${field}: ${String(wrong).slice(0, 20)}`,
    )
  }
  const { queueBytesMax, requestIdBytesMax, reasonBytesMax, timeMsMax, retriesMax } = recordLimits
  const named = tasks.findIndex((task) => task[11] !== null)
  const failed = tasks.findIndex((task) => (task[14] as number) > 0)
  for (const index of [named, failed]) {
    refused(index, 0, 0)
    refused(index, 1, 5)
    refused(index, 1, 257)
    for (const text of ['', 'x'.repeat(queueBytesMax + 1)]) refused(index, 2, text)
    for (const field of [3, 4, 6, 8, 9, 10]) refused(index, field, timeMsMax + 1)
    refused(index, 5, 2 ** 53)
    refused(index, 6, 0)
    refused(index, 7, retriesMax + 1)
    for (const text of ['', 'x'.repeat(requestIdBytesMax + 1)]) refused(index, 11, text)
    for (const field of [13, 14, 15]) refused(index, field, 2 ** 32)
    refused(index, 16, 'text')
  }
  refused(failed, 16, Buffer.alloc(reasonBytesMax + 1))
  refused(failed, 16, Buffer.from([0xff]))

  const [attempt = []] = (tasks[failed]?.at(-1) ?? []) as unknown[][]
  const attemptRefused = (field: number, wrong: unknown) =>
    refused(failed, 17, [attempt.with(field, wrong)])
  t.doesNotThrow(() => decode([head, ...tasks].map((value) => pack(value))))
  attemptRefused(0, 0)
  for (const text of ['', 'x'.repeat(129)]) attemptRefused(1, text)
  for (const field of [2, 3, 5]) attemptRefused(field, timeMsMax + 1)
  attemptRefused(4, 0)
  attemptRefused(4, 5)
  attemptRefused(5, null)
  for (const text of ['', 'x'.repeat(129)]) attemptRefused(6, text)
  attemptRefused(7, 1)
  t.throws(() => decode([pack(head.with(2, timeMsMax + 1)), ...tasks.map((v) => pack(v))]), {
    code: 'STATE_MALFORMED_CHUNK',
    message: /its time is too late/,
  })
  t.end()
})

t.test('tasks in a wrong order are rejected', (t) => {
  const [head = [], ...tasks] = values
  const living = tasks.filter((task) => (task[1] as number) < 2)
  const ended = tasks.filter((task) => (task[1] as number) >= 2)
  t.ok(living.length > 1 && ended.length > 1)
  for (const [sequence, message] of [
    [[...living.toReversed(), ...ended], /is out of order/],
    [[...living, ...ended.toReversed()], /ended before the task that precedes it/],
    [[...ended, ...living], /is out of order/],
  ] as const) {
    t.throws(() => decode([head, ...sequence].map((value) => pack(value))), {
      code: 'STATE_MALFORMED_CHUNK',
      message,
    })
  }
  t.end()
})

t.test('a decoder returns one state', (t) => {
  const decoder = new StateDecoder()
  for (const chunk of encodeState(createState())) decoder.add(chunk)
  decoder.finish()
  const refused = { code: 'STATE_BAD_ARGUMENT', message: /create a new one/ }
  t.throws(() => decoder.finish(), refused)
  t.throws(() => decoder.add(new Uint8Array()), refused)
  t.end()
})

t.test('a task that remembers only some of its attempts keeps their number', (t) => {
  const world = new World()
  const taskId = world.create()
  for (let attempt = 1; attempt <= 100; attempt++) {
    world.grant(taskId)
    world.expire(taskId)
  }
  const restored = decode(encodeState(world.state))
  t.match(allTasks(restored), [{ taskId, attempt: 100, expiriesInARow: 100 }])
  checkInvariants(restored)
  t.end()
})
