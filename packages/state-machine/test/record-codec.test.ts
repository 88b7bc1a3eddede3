import { deepStrictEqual, strictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import {
  decodeRecord,
  encodeRecord,
  type LogRecord,
  recordLimits,
  StateMachineError,
} from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import fc from 'fast-check'
import { pack, unpack } from 'msgpackr'
import t from 'tap'
import { recordVersion } from '../src/record/record-codec.js'
import { anyRecord } from './any-record.js'
import { World } from './world.js'

interface Golden {
  readonly name: string
  /** Bytes are hexadecimal text. */
  readonly record: { readonly [field: string]: unknown }
  readonly bytes: string
}

/** Kept forever: every later version must read what version 1 wrote. */
const golden: readonly Golden[] = JSON.parse(
  readFileSync(new URL('../../test/fixtures/records-v1.json', import.meta.url), 'utf8'),
)

function fromGolden({ record }: Golden): LogRecord {
  const fields = Object.entries(record).map(([name, value]) =>
    name === 'payload' || name === 'result'
      ? [name, Buffer.from(String(value), 'hex')]
      : [name, value],
  )
  return Object.fromEntries(fields)
}

for (const vector of golden) {
  t.test(`golden record: ${vector.name}`, (t) => {
    const record = fromGolden(vector)
    t.equal(Buffer.from(encodeRecord(record)).toString('hex'), vector.bytes)
    t.strictSame(decodeRecord(Buffer.from(vector.bytes, 'hex')), record)
    t.end()
  })
}

t.test('there is a golden vector for each of the nine records', (t) => {
  t.equal(new Set(golden.map(({ record }) => record.type)).size, 9)
  t.end()
})

const least = golden.map(({ bytes }) => unpack(Buffer.from(bytes, 'hex')) as unknown[])

t.test('an unknown version or type is an error, never skipped', (t) => {
  for (const values of least) {
    t.throws(() => decodeRecord(pack([recordVersion + 1, ...values.slice(1)])), {
      code: 'STATE_UNKNOWN_RECORD',
      message: /version 2; this release reads version 1/,
    })
  }
  for (const type of [0, 10, 255, 70_000, 2 ** 40]) {
    t.throws(() => decodeRecord(pack([recordVersion, type, 0, 1])), {
      code: 'STATE_UNKNOWN_RECORD',
    })
  }
  // No version has such values here, so these are not records of any version.
  for (const none of [-1, 1.5, 'TaskCreated', null]) {
    t.throws(() => decodeRecord(pack([recordVersion, none, 0, 1])), {
      code: 'STATE_MALFORMED_RECORD',
    })
    t.throws(() => decodeRecord(pack([none, 1, 0, 1])), { code: 'STATE_MALFORMED_RECORD' })
  }
  t.end()
})

t.test('a record has exactly its fields', (t) => {
  for (const values of least) {
    t.throws(() => decodeRecord(pack([...values, null])), { code: 'STATE_MALFORMED_RECORD' })
    t.throws(() => decodeRecord(pack(values.slice(0, -1))), { code: 'STATE_MALFORMED_RECORD' })
  }
  t.end()
})

t.test('every field of a wrong type is rejected', (t) => {
  let tried = 0
  for (const values of least) {
    for (let field = 2; field < values.length; field++) {
      for (const wrong of [-1, 1.5, 'x'.repeat(5000), true, [1], { a: 1 }, 2 ** 60]) {
        if (typeof wrong === typeof values[field] && typeof wrong === 'boolean') continue
        const bent = values.with(field, wrong)
        t.throws(() => decodeRecord(pack(bent)), { code: 'STATE_MALFORMED_RECORD' })
        tried++
      }
    }
  }
  t.comment(`${tried} bent records`)
  t.end()
})

t.test('bytes that are not a MessagePack array are rejected', (t) => {
  const bytes = Buffer.from(golden[0]?.bytes ?? '', 'hex')
  for (const wrong of [
    Buffer.alloc(0),
    pack(7),
    pack({ a: 1 }),
    pack('text'),
    pack(null),
    Buffer.from([0xc1]),
  ]) {
    t.throws(() => decodeRecord(wrong), { code: 'STATE_MALFORMED_RECORD' })
  }
  t.throws(() => decodeRecord(Buffer.concat([bytes, bytes])), { code: 'STATE_MALFORMED_RECORD' })
  t.end()
})

t.test('the error says why bytes are not a record', (t) => {
  const error = (bytes: Uint8Array) => {
    try {
      decodeRecord(bytes)
    } catch (thrown) {
      return thrown as Error
    }
    throw new Error('nothing was rejected')
  }
  const broken = error(Buffer.from([0x92]))
  t.equal(broken.message, 'the record cannot be decoded: the input ends in the middle of a value')
  t.ok(broken.cause instanceof Error)
  const cannot = (why: string) => `the record cannot be decoded: ${why}`
  t.equal(error(pack(7)).message, cannot('expected a list before byte 1'))
  t.equal(error(pack([])).message, cannot('it has no version and type'))
  t.equal(error(pack([1, 9, -1, 1])).message, cannot('expected a whole number before byte 4'))
  t.equal(
    error(Buffer.concat([pack([1, 9, 1, 1]), pack(1)])).message,
    cannot('unexpected data at byte 5'),
  )
  t.equal(error('text' as never).message, cannot('the input is not a Uint8Array'))
  t.equal(
    error(pack([recordVersion, 10, 1])).message,
    'the record has the unknown type 10. Use the release that wrote it, or a newer one',
  )
  t.equal(error(pack([recordVersion, 9, 1])).message, cannot('type 9 has 4 fields, not 3'))
  t.end()
})

t.test('a record that is cut anywhere is rejected', (t) => {
  for (const { bytes } of golden) {
    const whole = Buffer.from(bytes, 'hex')
    for (let length = 0; length < whole.length; length++) {
      t.throws(() => decodeRecord(whole.subarray(0, length)), { code: 'STATE_MALFORMED_RECORD' })
    }
  }
  t.end()
})

const {
  queueBytesMax,
  requestIdBytesMax,
  timeMsMax,
  retriesMax,
  workerIdBytesMax,
  reasonBytesMax,
} = recordLimits

t.test('the error names the record, the field, the value and the expected value', (t) => {
  const limit = { lsn: Number.MAX_SAFE_INTEGER, time: timeMsMax, attempt: 2 ** 32 - 1 }
  const whole = (min: number, max: number) => `a whole number from ${min} to ${max}`
  const [lsn, time] = [whole(1, limit.lsn), whole(0, limit.time)]
  const text = (min: number, max: number) => `a well-formed text of ${min} to ${max} bytes`
  const must: { readonly [type: string]: { readonly [field: string]: string } } = {
    TaskCreated: {
      at: time,
      taskId: lsn,
      payload: 'a Uint8Array',
      executionWindowMs: whole(1, timeMsMax),
      queue: text(1, queueBytesMax),
      notBefore: time,
      requestId: text(1, requestIdBytesMax),
    },
    LeaseGranted: {
      at: time,
      taskId: lsn,
      leaseId: lsn,
      workerId: text(1, workerIdBytesMax),
      attempt: whole(1, limit.attempt),
      leaseExpiry: time,
    },
    LeaseExtended: { at: time, leaseId: lsn, newLeaseExpiry: time },
    LeaseExpired: { at: time, taskId: lsn, leaseId: lsn, atStart: 'a boolean' },
    TaskCompleted: {
      at: time,
      taskId: lsn,
      leaseId: lsn,
      reportId: text(1, recordLimits.reportIdBytesMax),
      result: 'a Uint8Array',
    },
    TaskFailed: {
      at: time,
      taskId: lsn,
      leaseId: lsn,
      failureReason: text(0, reasonBytesMax),
      reportId: text(1, recordLimits.reportIdBytesMax),
    },
    TaskCancelled: { at: time, taskId: lsn, leaseId: lsn },
    TaskDead: { at: time, taskId: lsn, reason: text(0, reasonBytesMax) },
    TasksForgotten: { at: time, through: lsn },
  }
  const refused = (record: unknown, message: string) =>
    t.throws(() => encodeRecord(record as LogRecord), { message })
  for (const vector of golden) {
    const record = fromGolden(vector)
    for (const [field, expected] of Object.entries(must[record.type] ?? {})) {
      const message = `${record.type}: ${field} is 0.5; it must be ${expected}`
      refused({ ...record, [field]: 0.5 }, message)
    }
  }

  const created = new World().creation()
  const policy = (retryPolicy: unknown, message: string) =>
    refused({ ...created, retryPolicy }, `TaskCreated: retryPolicy.${message}`)
  const backoff = (of: object) => ({ maxRetries: 0, backoff: of })
  policy({ maxRetries: -1 }, `maxRetries is -1; it must be ${whole(0, retriesMax)}`)
  policy(backoff({ kind: 'fixed', delayMs: -1 }), `backoff.delayMs is -1; it must be ${time}`)
  policy(
    backoff({ kind: 'exponential', initialMs: -1, maxMs: 0 }),
    `backoff.initialMs is -1; it must be ${time}`,
  )
  policy(
    backoff({ kind: 'exponential', initialMs: 0, maxMs: -1 }),
    `backoff.maxMs is -1; it must be ${time}`,
  )
  policy({ maxRetries: 0 }, "backoff is missing; it must be of kind 'fixed' or 'exponential'")
  refused({ type: 'TaskPaused', at: 1 }, '"TaskPaused" is not a record type')
  const shown = `"${'x'.repeat(200)}"`
  refused(
    { ...created, queue: 'x'.repeat(201) },
    `TaskCreated: queue is ${shown}; it must be ${text(1, queueBytesMax)}`,
  )
  t.end()
})

t.test('the limits of records are fixed', (t) => {
  t.strictSame(recordLimits, {
    queueBytesMax: 64,
    requestIdBytesMax: 128,
    reportIdBytesMax: 128,
    workerIdBytesMax: 128,
    reasonBytesMax: 4096,
    timeMsMax: 2 ** 52 - 1,
    retriesMax: 2 ** 31 - 1,
  })
  t.end()
})

t.test('each limit holds to the byte, in UTF-8', (t) => {
  const world = new World()
  const { taskId, leaseId } = world.leased()
  const at = world.at
  const umlauts = (bytes: number) => 'ü'.repeat(bytes / 2)
  const limits: [max: number, least: number, make: (text: string) => LogRecord][] = [
    [queueBytesMax, 1, (queue) => world.creation({ queue })],
    [requestIdBytesMax, 1, (requestId) => world.creation({ requestId })],
    [workerIdBytesMax, 1, (workerId) => world.granting(taskId, { workerId })],
    [reasonBytesMax, 0, (reason) => ({ type: 'TaskDead', at, taskId, reason })],
    [
      reasonBytesMax,
      0,
      (failureReason) => ({ type: 'TaskFailed', at, taskId, leaseId, failureReason }),
    ],
    [
      recordLimits.reportIdBytesMax,
      1,
      (reportId) => ({ type: 'TaskCompleted', at, taskId, leaseId, reportId }),
    ],
    [
      recordLimits.reportIdBytesMax,
      1,
      (reportId) => ({ type: 'TaskFailed', at, taskId, leaseId, failureReason: '', reportId }),
    ],
  ]
  for (const [max, min, make] of limits) {
    for (const text of ['x'.repeat(min), 'x'.repeat(max), umlauts(max), '☂', '\u0000']) {
      t.strictSame(decodeRecord(encodeRecord(make(text))), make(text))
    }
    for (const text of [
      'x'.repeat(max + 1),
      umlauts(max + 2),
      '☂'.repeat(max / 2),
      '\ud800',
      'a\udc00b',
      ...(min > 0 ? [''] : []),
    ]) {
      t.throws(
        () => encodeRecord(make(text)),
        { code: 'STATE_MALFORMED_RECORD' },
        text.slice(0, 20),
      )
    }
  }
  t.end()
})

t.test('numbers are integers within their limits', (t) => {
  const world = new World()
  const policy = (maxRetries: number, delayMs = 0) =>
    world.creation({ retryPolicy: { maxRetries, backoff: { kind: 'fixed', delayMs } } })
  const exponential = (initialMs: number, maxMs: number) =>
    world.creation({
      retryPolicy: { maxRetries: 0, backoff: { kind: 'exponential', initialMs, maxMs } },
    })
  const fine: LogRecord[] = [
    world.creation({ at: timeMsMax, executionWindowMs: timeMsMax, notBefore: timeMsMax }),
    world.creation({ at: 0, executionWindowMs: 1, notBefore: 0 }),
    world.creation({ taskId: Number.MAX_SAFE_INTEGER }),
    policy(retriesMax, timeMsMax),
    exponential(timeMsMax, timeMsMax),
  ]
  for (const record of fine) t.strictSame(decodeRecord(encodeRecord(record)), record)
  const wrong: LogRecord[] = [
    world.creation({ at: timeMsMax + 1 }),
    world.creation({ at: -1 }),
    world.creation({ taskId: 0 }),
    world.creation({ taskId: 2 ** 53 }),
    world.creation({ executionWindowMs: 0 }),
    world.creation({ executionWindowMs: timeMsMax + 1 }),
    world.creation({ notBefore: 0.5 }),
    policy(retriesMax + 1),
    policy(-1),
    policy(0, timeMsMax + 1),
    exponential(timeMsMax + 1, 0),
    exponential(0, timeMsMax + 1),
    { ...world.creation(), retryPolicy: undefined as never },
    { ...world.creation(), retryPolicy: { maxRetries: 0, backoff: undefined as never } },
    { ...world.creation(), retryPolicy: { maxRetries: 0, backoff: { kind: 'linear' } as never } },
    { ...world.creation(), payload: 'text' as never },
    { type: 'LeaseExpired', at: 1, taskId: 1, leaseId: 2, atStart: 1 as never },
    { type: 'TaskCompleted', at: 1, taskId: 1, leaseId: 2, result: [1] as never },
    { type: 'TasksForgotten', at: 1, through: 0 },
  ]
  for (const record of wrong)
    t.throws(() => encodeRecord(record), { code: 'STATE_MALFORMED_RECORD' })
  t.throws(() => encodeRecord({ type: 'TaskPaused', at: 1 } as never), {
    code: 'STATE_UNKNOWN_RECORD',
  })
  t.end()
})

t.test('every record decodes to what was encoded', (t) => {
  const same = (record: LogRecord) => deepStrictEqual(decodeRecord(encodeRecord(record)), record)
  fc.assert(fc.property(anyRecord, same), { numRuns: 3000 })
  t.pass('3000 records')
  t.end()
})

/** Whether the bytes are a record. If they are, no other bytes may encode it. */
function isRecord(bytes: Uint8Array): boolean {
  let record: LogRecord
  try {
    record = decodeRecord(bytes)
  } catch (error) {
    if (error instanceof StateMachineError) return false
    throw error
  }
  strictEqual(Buffer.from(encodeRecord(record)).toString('hex'), Buffer.from(bytes).toString('hex'))
  return true
}

/** The bytes with a few changed, removed or inserted. */
function mutate(bytes: Uint8Array, random: Random): Buffer {
  const mutated = [...bytes]
  for (let changes = 1 + random.integer(3); changes > 0; changes--) {
    const at = random.integer(mutated.length)
    const heads = [0xc0, 0xc4, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf, 0xd4, 0xd9, 0xda, 0xdc, 0xdd]
    const value = random.chance(0.5) ? random.pick(heads) : random.integer(256)
    if (random.chance(0.8)) mutated[at] = value
    else if (random.chance(0.5)) mutated.splice(at, 1)
    else mutated.splice(at, 0, value)
    if (mutated.length === 0) break
  }
  return Buffer.from(mutated)
}

t.test('each record has exactly one encoding: mutated records', (t) => {
  const random = new Random(7)
  let records = 0
  const tried = 20_000
  for (let run = 0; run < tried; run++) {
    const { bytes } = random.pick(golden)
    if (isRecord(mutate(Buffer.from(bytes, 'hex'), random))) records++
  }
  t.ok(records > tried / 20 && records < tried / 2, `${records} of ${tried} were records`)
  t.end()
})

t.test('each record has exactly one encoding: random bytes', (t) => {
  const random = new Random(8)
  const lengths = [12, 8, 5, 6, 7, 7, 5, 5, 4]
  let records = 0
  for (let run = 0; run < 30_000; run++) {
    const type = 1 + random.integer(lengths.length)
    const rest = random.bytes(random.integer(20)).map((byte) => (byte % 3 === 0 ? byte >> 2 : byte))
    const head = random.chance(0.1) ? [] : [0x90 + (lengths[type - 1] ?? 0), 1, type]
    if (isRecord(Buffer.from([...head, ...rest]))) records++
  }
  t.ok(records > 100, `${records} were records`)
  t.end()
})

t.test('a record in another encoding is rejected', (t) => {
  const spelled = (hex: string) => () => decodeRecord(Buffer.from(hex.replaceAll(' ', ''), 'hex'))
  const fine = '97 01 05 01 01 02 c0 c0'
  t.doesNotThrow(spelled(fine))
  for (const [what, hex] of [
    ['an array of 16 bits', 'dc0007 01 05 01 01 02 c0 c0'],
    ['an array of 32 bits', 'dd00000007 01 05 01 01 02 c0 c0'],
    ['a version of 8 bits', '97 cc01 05 01 01 02 c0 c0'],
    ['a number of 8 bits too many', '97 01 05 cc7f 01 02 c0 c0'],
    ['a number of 16 bits too many', '97 01 05 cd00ff 01 02 c0 c0'],
    ['a number of 32 bits too many', '97 01 05 ce0000ffff 01 02 c0 c0'],
    ['a number of 64 bits', '97 01 05 cf0000000000000001 01 02 c0 c0'],
    ['a signed number', '97 01 05 d001 01 02 c0 c0'],
    ['a signed number of 64 bits', '97 01 05 d30000000000000001 01 02 c0 c0'],
    ['float32', '97 01 05 ca3f800000 01 02 c0 c0'],
    ['a small float64', '97 01 05 cb3ff0000000000000 01 02 c0 c0'],
    ['a float64 below 2^32', '97 01 05 cb41efffffffe00000 01 02 c0 c0'],
    ['a float64 with a fraction', '97 01 05 cb41f0000000080000 01 02 c0 c0'],
    ['2^53', '97 01 05 01 cb4340000000000000 02 c0 c0'],
    ['-0', '97 01 05 cb8000000000000000 01 02 c0 c0'],
    ['NaN', '97 01 05 cb7ff8000000000000 01 02 c0 c0'],
    ['a short text of 8 bits', '97 01 05 01 01 02 d90161 c0'],
    ['a short text of 16 bits', '97 01 05 01 01 02 da000161 c0'],
    ['a short text of 32 bits', '97 01 05 01 01 02 db0000000161 c0'],
    ['UTF-8 that is too long', '97 01 05 01 01 02 a2c080 c0'],
    ['half of a pair', '97 01 05 01 01 02 a3eda080 c0'],
    ['no UTF-8', '97 01 05 01 01 02 a1ff c0'],
    ['UTF-8 that is cut', '97 01 05 01 01 02 a361e282 c0'],
    ['a text for bytes', '97 01 05 01 01 02 c0 a161'],
    ['bytes for a text', '97 01 05 01 01 02 c40161 c0'],
    ['short bytes of 16 bits', '97 01 05 01 01 02 c0 c5000161'],
    ['short bytes of 32 bits', '97 01 05 01 01 02 c0 c60000000161'],
    ['bytes that are not all there', '97 01 05 01 01 02 c0 c40261'],
    ['undefined, as an extension', '97 01 05 01 01 02 d40000 c0'],
    ['typed bytes, as an extension', '97 01 05 01 01 02 c0 c7037401aabb'],
    ['a date, as an extension', '97 01 05 d6ff00000001 01 02 c0 c0'],
    ['a record of msgpackr', '97 01 05 d47240 91a161 05 01 02 c0 c0'],
    ['bytes after it', `${fine} 00`],
  ] as const) {
    t.throws(spelled(hex), { code: 'STATE_MALFORMED_RECORD' }, what)
  }
  t.end()
})

t.test('a record is decoded from any buffer at any offset', (t) => {
  const one: LogRecord = { type: 'TaskDead', at: 2 ** 40, taskId: 1, reason: 'é'.repeat(40) }
  const two: LogRecord = { type: 'TaskCompleted', at: 2, taskId: 1, leaseId: 2 }
  const bytes = [one, two].map((record) => Uint8Array.from(encodeRecord(record)))
  const check = (buffer: ArrayBufferLike, offset: number, index: number) => {
    const { length } = bytes[index] ?? []
    new Uint8Array(buffer).set(bytes[index] ?? [], offset)
    t.strictSame(decodeRecord(new Uint8Array(buffer, offset, length)), [one, two][index])
  }
  const buffer = new ArrayBuffer(200)
  check(buffer, 0, 0)
  check(buffer, 97, 0)
  check(new ArrayBuffer(200), 3, 1)
  check(buffer, 1, 1)
  check(new SharedArrayBuffer(200), 5, 0)
  // Newer than the library of the compiler.
  const Resizable = ArrayBuffer as unknown as new (
    length: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer & { resize(length: number): void }
  const growing = new Resizable(20, { maxByteLength: 500 })
  check(growing, 0, 1)
  growing.resize(400)
  check(growing, 250, 0)
  const gone = new Uint8Array(buffer, 0, 10)
  structuredClone(buffer, { transfer: [buffer] })
  t.throws(() => decodeRecord(gone), { code: 'STATE_MALFORMED_RECORD' })
  t.end()
})

t.test('a decoded record shares the bytes of its input', (t) => {
  const world = new World()
  const bytes = Uint8Array.from(encodeRecord(world.creation({ payload: Buffer.from('work') })))
  const record = decodeRecord(bytes)
  if (record.type !== 'TaskCreated') throw new Error('another record')
  t.equal(record.payload.buffer, bytes.buffer)
  t.end()
})

t.test('any value that is not a record is rejected with a StateMachineError', (t) => {
  const hostile = [
    null,
    undefined,
    'x',
    7,
    Symbol('s'),
    {},
    [],
    Object.create(null),
    { toString: 1 },
    { type: Object.create(null) },
    { type: { toString: 1 } },
    { type: Symbol('TaskDead') },
    () => undefined,
  ]
  for (const what of hostile) {
    const code = /^STATE_(MALFORMED|UNKNOWN)_RECORD$/
    t.throws(() => encodeRecord(what as never), { code })
    t.throws(() => new World().apply(what as never), { code })
    t.throws(() => decodeRecord(what as never), { code })
    for (const field of ['at', 'payload', 'retryPolicy', 'queue', 'requestId', 'notBefore']) {
      if (what === undefined && ['queue', 'requestId', 'notBefore'].includes(field)) continue
      if (what === 'x' && ['queue', 'requestId'].includes(field)) continue
      if (what === 7 && ['at', 'notBefore'].includes(field)) continue
      const record = new World().creation({ [field]: what })
      t.throws(() => encodeRecord(record), { code: 'STATE_MALFORMED_RECORD' }, field)
    }
    const backoff = new World().creation({
      retryPolicy: { maxRetries: 1, backoff: what as never },
    })
    t.throws(() => encodeRecord(backoff), { code: 'STATE_MALFORMED_RECORD' })
  }
  t.end()
})

t.test('-0 is rejected, because a codec may change it to 0', (t) => {
  const world = new World()
  for (const fields of [
    { at: -0 },
    { notBefore: -0 },
    { retryPolicy: { maxRetries: -0, backoff: { kind: 'fixed' as const, delayMs: 0 } } },
    { retryPolicy: { maxRetries: 0, backoff: { kind: 'fixed' as const, delayMs: -0 } } },
  ]) {
    t.throws(() => world.create(fields), { code: 'STATE_MALFORMED_RECORD', message: /is -0;/ })
  }
  t.end()
})
