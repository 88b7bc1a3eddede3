import { deepStrictEqual } from 'node:assert'
import {
  type Answer,
  decodeAnswer,
  decodeHello,
  decodeRequest,
  decodeWelcome,
  encodeAnswer,
  encodeHello,
  encodeRequest,
  encodeWelcome,
  messageLimits as limits,
  ProtocolError,
  type Request,
  roles,
  taskStates,
} from '@tenure/protocol'
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { answersByKind, hellos, requestsByKind, welcomes } from './arbitraries.js'
import { bodyOf, fromHex, plain, unframe } from './bytes.js'

/** Runs per kind of message. */
const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 100)

/** Encodes to one frame with the right length, and decodes to an equal message. */
function roundTrips<T>(
  arbitrary: Arbitrary<T>,
  encode: (message: T) => Buffer,
  decode: (body: Uint8Array) => unknown,
): Set<string> {
  const shapes = new Set<string>()
  const property = fc.property(arbitrary, (message) => {
    const frame = encode(message)
    deepStrictEqual(frame.readUInt32BE(0), frame.length - 4)
    deepStrictEqual(plain(decode(unframe(frame))), plain(message))
    shapes.add(
      Object.keys(message as object)
        .sort()
        .join(' '),
    )
  })
  fc.assert(property, { numRuns })
  return shapes
}

for (const [kind, arbitrary] of Object.entries(requestsByKind)) {
  t.test(`${kind} survives a round trip`, (t) => {
    const shapes = roundTrips(arbitrary as Arbitrary<Request>, encodeRequest, decodeRequest)
    const optional: { readonly [kind: string]: number } = {
      complete: 2,
      fail: 1,
      list: 2,
      history: 3,
    }
    if (kind !== 'submit') t.equal(shapes.size, 2 ** (optional[kind] ?? 0))
    t.end()
  })
}

t.test('submit survives a round trip in every combination of its options', (t) => {
  const retryPolicy = { maxRetries: 1, backoff: { kind: 'exponential', initialMs: 1, maxMs: 9 } }
  const options: [string, unknown][] = [
    ['queue', 'mail'],
    ['notBefore', 2 ** 41],
    ['delayMs', 5],
    ['requestId', 'order 7'],
    ['executionWindowMs', 1000],
    ['retryPolicy', retryPolicy],
  ]
  for (let chosen = 0; chosen < 2 ** options.length; chosen++) {
    const given = Object.fromEntries(options.filter((_, index) => chosen & (1 << index)))
    const request = { kind: 'submit', id: 1, payload: Uint8Array.of(1), ...given } as const
    const decoded = decodeRequest(unframe(encodeRequest(request)))
    if ('notBefore' in given && 'delayMs' in given) {
      t.match(decoded, {
        kind: 'malformed',
        id: 1,
        message: /not_before and delay are mutually exclusive/,
      })
    } else t.strictSame(plain(decoded), request)
  }
  t.end()
})

const options: { readonly [kind: string]: number } = {
  committed: 1,
  cancelled: 1,
  rejected: 2,
  tasks: 1,
  history: 1,
}

for (const [kind, arbitrary] of Object.entries(answersByKind)) {
  t.test(`${kind} survives a round trip`, (t) => {
    const shapes = roundTrips(arbitrary as Arbitrary<Answer>, encodeAnswer, decodeAnswer)
    t.equal(shapes.size, 2 ** (options[kind] ?? 0))
    t.end()
  })
}

t.test('hello and welcome survive a round trip', (t) => {
  t.equal(roundTrips(hellos, encodeHello, decodeHello).size, 2)
  roundTrips(welcomes, encodeWelcome, decodeWelcome)
  t.end()
})

t.test('an undefined fact arrives as nil', (t) => {
  const stats = { a: undefined, b: [undefined] }
  const answer = decodeAnswer(unframe(encodeAnswer({ kind: 'stats', id: 1, stats })))
  t.strictSame(answer, { kind: 'stats', id: 1, stats: { a: null, b: [null] } })
  t.end()
})

t.test('encoding an answer with a fraction throws', (t) => {
  for (const value of [0.5, 1234.000001, -1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
    const refused = { name: 'TypeError', message: /whole number from 0/ }
    const checkpoint = { lsn: 1, removed: { bytes: value } }
    t.throws(() => encodeAnswer({ kind: 'checkpointed', id: 1, checkpoint }), refused)
    const tasks = [{ attempts: [{ grantedAt: value }] }]
    t.throws(() => encodeAnswer({ kind: 'tasks', id: 1, tasks }), refused)
    const terms = { leaseExpiry: 1, windowEnd: 1, heldMs: value, leaseMs: 1, windowMs: 1 }
    t.throws(() => encodeAnswer({ kind: 'extended', id: 1, ...terms }), refused)
  }
  // A partly encoded message that failed is dropped.
  t.equal(encodeAnswer({ kind: 'pong', id: 1 }).toString('hex'), '00000003924d01')
  t.end()
})

t.test('a field of the wrong type is written unchanged, and the reader reports it', (t) => {
  const under = { id: 7, taskId: 1, leaseId: 2 } as const
  const requests: readonly [request: unknown, message: RegExp][] = [
    [{ kind: 'complete', ...under, result: 'done' }, /^result is a string; it must be bytes$/],
    [{ kind: 'complete', ...under, reportId: 5 }, /^report_id is 5; it must be a string/],
    [{ kind: 'heartbeat', ...under, leaseId: '2' }, /^lease_id is a string; it must be a whole/],
    [{ kind: 'heartbeat', id: 7, taskId: 1 }, /^lease_id is nil; it must be a whole/],
    [{ kind: 'submit', id: 7, payload: [1] }, /^payload is a list of 1 values; it must be bytes$/],
    [{ kind: 'kill', id: 7, taskId: 1, reason: true }, /^reason is true; it must be a string/],
  ]
  for (const [request, message] of requests) {
    const decoded = decodeRequest(unframe(encodeRequest(request as Request)))
    t.match(decoded, { kind: 'malformed', id: 7, message })
  }
  t.end()
})

t.test('encoding a fact without a plain MessagePack form throws a TypeError', (t) => {
  const values = [new Date(), new Set(), new Map(), new Error('no'), /a/, 1n, () => 1, Symbol('a')]
  for (const value of [...values, '\ud800']) {
    const asked = { kind: 'why', id: 1, why: { deep: [{ value }] } } as const
    t.throws(() => encodeAnswer(asked), TypeError, String(value))
  }
  t.throws(() => encodeAnswer({ kind: 'why', id: 1, why: { '\ud800': 1 } }), TypeError)
  t.end()
})

t.test('a decoded request does not share memory with its frame', (t) => {
  const submit = { kind: 'submit', id: 1, payload: Buffer.from('mine') } as const
  const frame = encodeRequest(submit)
  const request = decodeRequest(unframe(frame))
  frame.fill(0)
  t.strictSame(plain(request), plain(submit))
  const withDelay = encodeRequest({ ...submit, delayMs: 1 })
  const carefully = decodeRequest(unframe(withDelay))
  withDelay.fill(0)
  t.strictSame(plain(carefully), plain({ ...submit, delayMs: 1 }))
  t.end()
})

t.test('-0 is decoded as 0', (t) => {
  const marker = 0.5
  const [positive, negative] = [Buffer.from('cb3fe0000000000000', 'hex'), Buffer.alloc(9, 0)]
  negative.set([0xcb, 0x80])
  const signed = (...values: unknown[]) => {
    const body = bodyOf(1, 7, Buffer.alloc(0), ...values)
    for (let at = body.indexOf(positive); at !== -1; at = body.indexOf(positive)) {
      negative.copy(body, at)
    }
    return decodeRequest(body)
  }
  const submit = { kind: 'submit', id: 7, payload: Buffer.alloc(0) }
  t.strictSame(signed(null, null, marker, null, null, [marker, marker, marker]), {
    ...submit,
    delayMs: 0,
    retryPolicy: { maxRetries: 0, backoff: { kind: 'exponential', initialMs: 0, maxMs: 0 } },
  })
  const answered = signed(null, marker, null, null, null, null)
  t.ok(answered.kind === 'submit' && Object.is(answered.notBefore, 0))
  t.end()
})

t.test('bytes inside facts do not share memory with the frame', (t) => {
  const task = { payload: Buffer.from('mine'), attempts: [{ result: Buffer.from('too') }] }
  const frame = encodeAnswer({ kind: 'task', id: 1, task })
  const answer = decodeAnswer(unframe(frame))
  frame.fill(0)
  t.strictSame(plain(answer), plain({ kind: 'task', id: 1, task }))
  t.end()
})

t.test('encoding a message does not change earlier frames', (t) => {
  const small = encodeRequest({ kind: 'ping', id: 77 })
  const payload = new Uint8Array(3_000_000).fill(5)
  const large = encodeRequest({ kind: 'submit', id: 78, payload })
  for (let id = 1; id <= 1000; id++) encodeRequest({ kind: 'get', id, taskId: id })
  t.strictSame(decodeRequest(unframe(small)), { kind: 'ping', id: 77 })
  const decoded = decodeRequest(unframe(large))
  t.ok(decoded.kind === 'submit' && Buffer.compare(decoded.payload, payload) === 0)
  t.end()
})

// ---- each field with a wrong type or over its limit

interface Field {
  readonly name: string
  readonly good: readonly unknown[]
  readonly bad: readonly unknown[]
}

const otherThanNumbers = ['1', true, [1], { a: 1 }, Buffer.of(1)]

function whole(name: string, min: number, max: number): Field {
  const bad = [min - 1, max + 1, max + 2, -(2 ** 60), 1.5, Number.NaN, Number.POSITIVE_INFINITY]
  return { name, good: [min, max], bad: [...bad, null, ...otherThanNumbers] }
}

function text(name: string, min: number, max: number): Field {
  const ofBytes = (bytes: number) => '€'.repeat(Math.floor(bytes / 3)) + 'x'.repeat(bytes % 3)
  const bad = ['x'.repeat(max + 1), ofBytes(max + 1), null, 7, true, ['x'], { a: 'x' }]
  return {
    name,
    good: ['x'.repeat(min), 'x'.repeat(max), ofBytes(max)],
    bad: [...bad, Buffer.from('x'), ...(min === 0 ? [] : [''])],
  }
}

const bytes = (name: string): Field => ({
  name,
  good: [Buffer.alloc(0), Buffer.alloc(100_000)],
  bad: ['text', 7, true, null, [1], { a: 1 }],
})

const boolean = (name: string): Field => ({ name, good: [true, false], bad: [0, 1, null, 'true'] })

const map = (name: string): Field => ({
  name,
  good: [{}, { a: 1 }],
  bad: [null, [], 'a', 7, true, Buffer.of(1)],
})

const address = text('extras.active', 1, limits.endpointBytesMax)

const extrasOfRejected: Field = {
  name: 'extras',
  good: [...address.good.map((active) => ({ active })), {}, { later: { any: [1] } }],
  bad: [...map('extras').bad, ...address.bad.map((active) => ({ active }))],
}

function optional(field: Field): Field {
  const bad = field.bad.filter((value) => value !== null)
  return { name: field.name, good: [...field.good, null], bad }
}

function list(name: string, max: number, of: Field): Field {
  return {
    name,
    good: [[of.good[0]], new Array(max).fill(of.good[0])],
    bad: [[], new Array(max + 1).fill(of.good[0]), null, 'a', 7, { a: 1 }, Buffer.of(1)],
  }
}

const lsn = (name: string) => whole(name, 1, Number.MAX_SAFE_INTEGER)
const { durationMsMax, timeMsMax, reasonBytesMax, queueBytesMax } = limits
const duration = (name: string, min = 0) => whole(name, min, durationMsMax)
const queue = text('queue', 1, queueBytesMax)
const state: Field = {
  name: 'state',
  good: [...taskStates],
  bad: [
    '',
    'waiting',
    'RUNNING',
    'WAITING ',
    'x'.repeat(17),
    null,
    7,
    ['DEAD'],
    Buffer.from('DEAD'),
  ],
}
const reportId = optional(text('report_id', 1, limits.reportIdBytesMax))
const reason = text('reason', 0, reasonBytesMax)
const lease = [lsn('task_id'), lsn('lease_id')]
const retries: Field = {
  name: 'retries',
  good: [null, [0, 0, null], [1, 1, 1]],
  bad: [[], [1, 1], [1, 1, 1, 1], 'a', 7, { a: 1 }, Buffer.of(1)],
}

const place = [
  lsn('from_lsn'),
  optional(lsn('lease_id')),
  optional(whole('retries_left', 0, 2 ** 31 - 1)),
  optional(lsn('ended_lsn')),
]

/** The type, and the fields after the id. */
const requestFields: [kind: string, type: number, fields: Field[]][] = [
  [
    'submit',
    1,
    [
      bytes('payload'),
      optional(queue),
      optional(whole('not_before', 0, timeMsMax)),
      optional(duration('delay')),
      optional(text('request_id', 1, limits.requestIdBytesMax)),
      optional(duration('execution_window', 1)),
      retries,
    ],
  ],
  ['lease', 2, [list('queues', limits.queuesMax, queue), duration('wait')]],
  ['heartbeat', 3, lease],
  ['complete', 4, [...lease, reportId, optional(bytes('result'))]],
  ['fail', 5, [...lease, reason, reportId]],
  ['kill', 6, [lsn('task_id'), reason]],
  ['get', 7, [lsn('task_id')]],
  [
    'list',
    8,
    [optional(state), optional(queue), lsn('from_task_id'), whole('limit', 1, limits.listMax)],
  ],
  ['workers', 9, []],
  ['stats', 10, []],
  ['ping', 11, []],
  ['withdraw', 12, [whole('of', 1, 2 ** 32 - 1)]],
  ['why', 13, [lsn('task_id')]],
  ['history', 14, [lsn('task_id'), ...place]],
  ['checkpoint', 15, []],
]

/** nil if the field is optional, else its first valid value. */
const least = ({ good }: Field) => (good.includes(null) ? null : good[0])

/** All lists that differ from the default one in one field, by a valid or by an invalid value. */
function* variants(fields: readonly Field[], which: 'good' | 'bad') {
  for (const [index, field] of fields.entries()) {
    for (const value of field[which]) {
      const values = fields.map((other, at) => (at === index ? value : least(other)))
      yield { field, value, values }
    }
  }
}

for (const [kind, type, fields] of requestFields) {
  t.test(`${kind}: a field of the wrong type or over its limit is reported, with the id`, (t) => {
    for (const { values } of variants(fields, 'good')) {
      t.match(decodeRequest(bodyOf(type, 7, ...values)), { kind, id: 7 })
    }
    for (const { field, value, values } of variants(fields, 'bad')) {
      const decoded = decodeRequest(bodyOf(type, 7, ...values))
      const message = new RegExp(`^${field.name} is .*; it must be `)
      t.match(decoded, { kind: 'malformed', id: 7, message }, `${field.name}: ${typeof value}`)
    }
    const right = fields.map(least)
    for (const wrong of [[...right, null], ...(right.length > 0 ? [right.slice(1)] : [])]) {
      const message = new RegExp(`^${kind} has \\d+ fields; it must have ${right.length + 2}$`)
      t.match(decodeRequest(bodyOf(type, 7, ...wrong)), { kind: 'malformed', id: 7, message })
    }
    t.end()
  })
}

t.test('the parts of retries and the names of queues have limits, too', (t) => {
  const submit = (retries: unknown[]) =>
    decodeRequest(bodyOf(1, 7, Buffer.of(1), null, null, null, null, null, retries))
  const parts = [
    whole('retries.max_retries', 0, 2 ** 31 - 1),
    duration('retries.delay'),
    optional(duration('retries.delay_max')),
  ]
  for (const { values } of variants(parts, 'good')) t.match(submit(values), { kind: 'submit' })
  for (const { field, values } of variants(parts, 'bad')) {
    t.match(submit(values), { kind: 'malformed', message: new RegExp(`^${field.name} is`) })
  }
  for (const bad of queue.bad) {
    const decoded = decodeRequest(bodyOf(2, 7, ['mail', bad], 0))
    t.match(decoded, { kind: 'malformed', id: 7, message: /^queue is/ })
  }
  t.end()
})

t.test('an unknown request with a readable id is malformed', (t) => {
  for (const type of [-1, 0, 16, 63, 64, 65, 1.5, Number.NaN, 2 ** 40]) {
    const message = /^unknown request type/
    t.match(decodeRequest(bodyOf(type, 7)), { kind: 'malformed', id: 7, message })
  }
  t.end()
})

t.test('a request without an id ends the connection', (t) => {
  for (const id of [0, -1, 2 ** 32, 1.5, Number.NaN, null, '7', true, [7], { a: 7 }]) {
    t.throws(() => decodeRequest(bodyOf(11, id)), { code: 'PROTOCOL_BAD_MESSAGE', message: /id/ })
  }
  for (const body of [bodyOf(), bodyOf('11', 7), bodyOf(null, 7), fromHex('0b'), fromHex('80')]) {
    t.throws(() => decodeRequest(body), { code: 'PROTOCOL_BAD_MESSAGE' })
  }
  t.throws(() => decodeRequest(bodyOf(11)), { code: 'PROTOCOL_BAD_MESSAGE', message: /id/ })
  t.end()
})

const time = (name: string) => whole(name, 0, Number.MAX_SAFE_INTEGER)
const termNames = ['lease_expiry', 'window_end', 'held', 'lease', 'window']
const terms: Field = {
  name: 'terms',
  good: [[0, 0, 0, 0, 0]],
  bad: [[], [0, 0, 0, 0], [0, 0, 0, 0, 0, 0], null, 7, 'a', { a: 1 }, Buffer.of(1)],
}
const maps = (name: string): Field => ({
  name,
  good: [[], [{}], [{ a: 1 }, {}]],
  bad: [null, 'a', 7, { a: 1 }, [1], [[]], [{}, 'a'], [Buffer.of(1)]],
})
/** Its entries are tested below. */
const listOf = (name: string): Field => ({
  name,
  good: [[]],
  bad: [null, 'a', 7, { a: 1 }, Buffer.of(1), [1], ['a'], [{}], [[]], [[1]], [[1, 2, 3, 4]]],
})
const next: Field = {
  name: 'next',
  good: [
    [1, null, null, null],
    [1, 1, 0, 1],
  ],
  bad: [[], [1, 1, 1], [1, 1, 1, 1, 1], 'a', 7, { a: 1 }, Buffer.of(1)],
}
const known = boolean('known')
const word = text('reason', 1, 64)

const answerFields: [kind: string, type: number, fields: Field[]][] = [
  ['submitted', 65, [lsn('task_id'), known]],
  ['leased', 66, [...lease, lsn('attempt'), queue, bytes('payload'), terms]],
  ['empty', 67, []],
  ['extended', 68, [terms]],
  ['committed', 69, [text('state', 1, 16), optional(whole('eligible_at', 0, 2 * timeMsMax))]],
  ['cancelled', 70, [word, optional(lsn('superseded_by'))]],
  [
    'rejected',
    71,
    [
      word,
      text('message', 0, reasonBytesMax),
      optional(whole('retry_after', 0, timeMsMax)),
      optional(extrasOfRejected),
    ],
  ],
  ['killed', 72, [known]],
  ['task', 73, [map('task')]],
  ['tasks', 74, [maps('tasks'), optional(lsn('next_task_id'))]],
  ['workers', 75, [maps('workers'), whole('left_out', 0, Number.MAX_SAFE_INTEGER)]],
  ['stats', 76, [map('stats')]],
  ['pong', 77, []],
  ['withdrawn', 78, []],
  ['why', 79, [map('why')]],
  ['history', 80, [lsn('first_lsn'), listOf('records'), listOf('openings'), optional(next)]],
  ['checkpointed', 81, [map('checkpoint')]],
]

const badMessage = { name: 'ProtocolError', code: 'PROTOCOL_BAD_MESSAGE' }

for (const [kind, type, fields] of answerFields) {
  t.test(`${kind}: an answer with a field of the wrong type or over its limit is rejected`, (t) => {
    for (const { values } of variants(fields, 'good')) {
      t.match(decodeAnswer(bodyOf(type, 7, ...values)), { kind, id: 7 })
    }
    for (const { field, values } of variants(fields, 'bad')) {
      const message = new RegExp(`^${field.name}[.a-z]* (is|must be) `)
      t.throws(() => decodeAnswer(bodyOf(type, 7, ...values)), { ...badMessage, message })
    }
    const right = fields.map(least)
    for (const wrong of [[...right, null], ...(right.length > 0 ? [right.slice(1)] : [])]) {
      t.throws(() => decodeAnswer(bodyOf(type, 7, ...wrong)), badMessage)
    }
    t.throws(() => decodeAnswer(bodyOf(type, -1, ...right)), badMessage)
    t.end()
  })
}

t.test('the terms of a lease have limits', (t) => {
  for (const { field, values } of variants(termNames.map(time), 'bad')) {
    const message = new RegExp(`^${field.name} is`)
    t.throws(() => decodeAnswer(bodyOf(68, 7, values)), { ...badMessage, message })
  }
  t.end()
})

t.test('the parts of a history have limits', (t) => {
  const history = (records: unknown[], openings: unknown[], next: unknown[] | null) =>
    decodeAnswer(bodyOf(80, 7, 1, records, openings, next))
  const parts: [Field[], (values: unknown[]) => unknown][] = [
    [[lsn('lsn'), bytes('record')], (values) => history([[1, Buffer.of(1)], values], [], null)],
    [
      [lsn('epoch'), lsn('first_lsn'), time('at')],
      (values) => history([], [[1, 1, 1], values], null),
    ],
    [place, (values) => history([], [], values)],
  ]
  for (const [fields, decode] of parts) {
    for (const { values } of variants(fields, 'good')) t.match(decode(values), { kind: 'history' })
    for (const { field, values } of variants(fields, 'bad')) {
      const message = new RegExp(`^${field.name} is`)
      t.throws(() => decode(values), { ...badMessage, message })
    }
  }
  t.end()
})

t.test('an unknown answer is rejected', (t) => {
  for (const type of [1, 64, 82, -1, 1.5]) {
    t.throws(() => decodeAnswer(bodyOf(type, 7)), { ...badMessage, message: /unknown answer type/ })
  }
  t.end()
})

t.test('an unknown reason is decoded as INTERNAL', (t) => {
  // The last three are names that every object inherits.
  for (const newer of ['ON_FIRE', 'toString', 'constructor', '__proto__']) {
    t.match(decodeAnswer(bodyOf(71, 7, newer, 'hm', null, null)), {
      reason: 'INTERNAL',
      message: 'hm',
    })
    t.match(decodeAnswer(bodyOf(70, 7, newer, null)), { kind: 'cancelled', reason: 'INTERNAL' })
    t.strictSame(decodeWelcome(bodyOf(71, 0, newer, 'hm', null, null)), {
      reason: 'INTERNAL',
      message: 'hm',
    })
  }
  t.end()
})

const helloFields: Field[] = [
  { name: 'role', good: [...roles], bad: ['root', '', null, 7, true, ['work'], 'x'.repeat(17)] },
  text('name', 1, limits.workerIdBytesMax),
  optional(text('token', 1, limits.tokenBytesMax)),
  whole('capacity', 0, 1_000_000),
  optional(map('extras')),
]

t.test('hello: a field of the wrong type or over its limit is rejected', (t) => {
  for (const { values } of variants(helloFields, 'good')) {
    t.match(decodeHello(bodyOf(0, 1, ...values)), { version: 1 })
  }
  for (const { field, values } of variants(helloFields, 'bad')) {
    const message = new RegExp(`^${field.name} (is|must be) `)
    t.throws(() => decodeHello(bodyOf(0, 1, ...values)), { ...badMessage, message })
  }
  const right = helloFields.map(least)
  for (const wrong of [[0, 1, ...right, null], [0, 1, ...right.slice(1)], [1, 1, ...right], [0]]) {
    t.throws(() => decodeHello(bodyOf(...wrong)), badMessage)
  }
  for (const version of whole('version', 1, 0xffff).bad) {
    t.throws(() => decodeHello(bodyOf(0, version, ...right)), badMessage)
  }
  t.end()
})

t.test('only the version is read from a hello in another version', (t) => {
  for (const body of [bodyOf(0, 2), bodyOf(0, 2, { all: 'new' }, [1]), bodyOf(0, 65_535, null)]) {
    t.strictSame(Object.keys(decodeHello(body)), ['otherVersion'])
  }
  t.strictSame(decodeHello(bodyOf(0, 2)), { otherVersion: 2 })
  t.end()
})

const knobs = {
  frameBytesMax: 1,
  payloadBytesMax: 1,
  resultBytesMax: 1,
  requestsInFlightMax: 1,
  pollsPerConnectionMax: 1,
  waitMsMax: 1,
}
const log = '0123456789abcdef'.repeat(2)
const welcomeFields: Field[] = [
  whole('version', 1, 0xffff),
  whole('epoch', 0, Number.MAX_SAFE_INTEGER),
  whole('lease', 1, Number.MAX_SAFE_INTEGER),
  whole('heartbeat', 1, Number.MAX_SAFE_INTEGER),
  text('sync_mode', 1, 16),
  { name: 'limits', good: [knobs, { ...knobs, another: 1 }], bad: [null, [], 7, 'a', {}] },
  {
    name: 'extras',
    good: [{ log }, { log, shard: 0, shards: 1, endpoints: ['a:1'] }, { log, later: [{ any: 1 }] }],
    bad: [...map('extras').bad, {}, { shard: 0, shards: 1, endpoints: [] }],
  },
]

const extraFields: Field[] = [
  {
    name: 'extras.log',
    good: [log],
    bad: ['', 'a'.repeat(31), 'a'.repeat(33), 'A'.repeat(32), 'g'.repeat(32), null, 7, ['a']],
  },
  whole('extras.shard', 0, Number.MAX_SAFE_INTEGER),
  whole('extras.shards', 1, Number.MAX_SAFE_INTEGER),
  {
    name: 'extras.endpoints',
    good: [[], ['a:1', 'x'.repeat(limits.endpointBytesMax)]],
    bad: [null, 'a:1', 7, { a: 1 }, [7], [''], ['x'.repeat(limits.endpointBytesMax + 1)], [null]],
  },
]

t.test('welcome: a field of the wrong type or over its limit is rejected', (t) => {
  for (const { values } of variants(welcomeFields, 'good')) {
    t.match(decodeWelcome(bodyOf(64, ...values)), { limits: knobs })
  }
  for (const { field, values } of variants(welcomeFields, 'bad')) {
    const message = new RegExp(`^${field.name}[.a-zA-Z]* is `)
    t.throws(() => decodeWelcome(bodyOf(64, ...values)), { ...badMessage, message })
  }
  const right = welcomeFields.map(least)
  for (const name of Object.keys(knobs)) {
    for (const value of [...otherThanNumbers, -1, 1.5, null]) {
      const limits = { ...knobs, [name]: value }
      t.throws(() => decodeWelcome(bodyOf(64, ...right.slice(0, 5), limits, { log })), badMessage)
    }
    const { [name as keyof typeof knobs]: _, ...others } = knobs
    t.throws(() => decodeWelcome(bodyOf(64, ...right.slice(0, 5), others, { log })), badMessage)
  }
  for (const wrong of [
    [64, ...right, null],
    [64, ...right.slice(1)],
    [65, ...right],
  ]) {
    t.throws(() => decodeWelcome(bodyOf(...wrong)), badMessage)
  }
  t.throws(() => decodeWelcome(bodyOf(71, 1, 'UNAUTHORIZED', '', null, null)), badMessage)
  t.end()
})

t.test('welcome: each known key of extras is checked, and unknown keys are ignored', (t) => {
  const read = (extras: object) =>
    decodeWelcome(bodyOf(64, ...welcomeFields.slice(0, 6).map(least), extras))
  for (const { name, good, bad } of extraFields) {
    const key = name.slice('extras.'.length)
    for (const value of good) t.match(read({ log, unknown: 1, [key]: value }), { log })
    for (const value of bad) {
      const message = new RegExp(`^${name} is .*; it must be `)
      t.throws(() => read({ log, [key]: value }), { ...badMessage, message }, key)
    }
  }
  t.end()
})

t.test('a rejection names the active coordinator in the handshake and after it', (t) => {
  const active = '[::1]:7411'
  const body = bodyOf(71, 0, 'NOT_ACTIVE', 'hm', null, { later: 1, active })
  t.strictSame(decodeWelcome(body), { reason: 'NOT_ACTIVE', message: 'hm', active })
  t.match(decodeAnswer(body), { kind: 'rejected', reason: 'NOT_ACTIVE', active })
  t.end()
})

// ---- numbers and strings

t.test('a whole number is read in every MessagePack form', (t) => {
  const five = ['05', 'cc05', 'cd0005', 'ce00000005', 'cf0000000000000005']
  const signed = ['d005', 'd10005', 'd200000005', 'd30000000000000005']
  const floating = ['ca40a00000', 'cb4014000000000000']
  for (const form of [...five, ...signed, ...floating]) {
    t.strictSame(decodeRequest(fromHex(`9307 01 ${form}`)), { kind: 'get', id: 1, taskId: 5 }, form)
    t.strictSame(decodeRequest(fromHex(`92 0b ${form}`)), { kind: 'ping', id: 5 }, form)
  }
  const large = { kind: 'get', id: 1, taskId: 2 ** 53 - 1 }
  for (const form of ['cf001fffffffffffff', 'd3001fffffffffffff', 'cb433fffffffffffff']) {
    t.strictSame(decodeRequest(fromHex(`9307 01 ${form}`)), large, form)
  }
  t.end()
})

t.test('a 64-bit integer above the safe integers is malformed', (t) => {
  const beyond = ['cf0020000000000000', 'cf0020000000000001', 'cfffffffffffffffff']
  for (const form of [...beyond, 'd3ffffffffffffffff', 'd38000000000000000']) {
    const message = /^task_id is -?\d+; it must be a whole number/
    t.match(decodeRequest(fromHex(`9307 01 ${form}`)), { kind: 'malformed', id: 1, message }, form)
  }
  t.end()
})

t.test('encoding a string with a lone surrogate throws', (t) => {
  for (const half of ['\ud800', 'x\udc00', `${'x'.repeat(100)}\ud800`]) {
    t.throws(() => encodeRequest({ kind: 'kill', id: 1, taskId: 1, reason: half }), TypeError)
    t.throws(() => encodeRequest({ kind: 'lease', id: 1, queues: [half], waitMs: 0 }), TypeError)
    t.throws(() => encodeHello({ version: 1, role: 'work', name: half, capacity: 1 }), TypeError)
  }
  t.end()
})

t.test('the message about an invalid field does not repeat its value', (t) => {
  const secret = 'hunter2'.repeat(200)
  const wrong: unknown[] = [secret, Buffer.from(secret), [secret], { [secret]: secret }]
  for (const [, type, fields] of requestFields) {
    for (const index of fields.keys()) {
      for (const value of wrong) {
        const values = fields.map((field, at) => (at === index ? value : least(field)))
        const decoded = decodeRequest(bodyOf(type, 7, ...values))
        if (decoded.kind === 'malformed') t.notMatch(decoded.message, /hunter/)
      }
    }
  }
  for (const value of wrong) {
    for (const index of helloFields.keys()) {
      const values = helloFields.map((field, at) => (at === index ? value : least(field)))
      try {
        decodeHello(bodyOf(0, 1, ...values))
      } catch (error) {
        t.ok(error instanceof ProtocolError && !error.message.includes('hunter'))
      }
    }
  }
  t.end()
})
