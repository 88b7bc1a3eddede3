import { readFileSync } from 'node:fs'
import {
  decodeRecord,
  encodeRecord,
  type LogRecord,
  recordLimits,
  recordVersion,
} from '@tenure/state-machine'
import { pack, unpack } from 'msgpackr'
import t from 'tap'
import { World } from './world.js'

interface Golden {
  readonly name: string
  /** Bytes as hexadecimal text. */
  readonly record: { readonly [field: string]: unknown }
  readonly bytes: string
}

/** Kept for ever: what version 1 wrote, every later version reads. */
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
      message: /version 2; this software reads version 1/,
    })
  }
  for (const type of [0, 10, -1, 1.5, 'TaskCreated', null]) {
    t.throws(() => decodeRecord(pack([recordVersion, type, 0, 1])), {
      code: 'STATE_UNKNOWN_RECORD',
    })
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

t.test('a field of another kind is refused, whichever it is', (t) => {
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

t.test('what is no MessagePack array is refused', (t) => {
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

t.test('the error says why bytes are no record', (t) => {
  const error = (bytes: Uint8Array) => {
    try {
      decodeRecord(bytes)
    } catch (thrown) {
      return thrown as Error
    }
    throw new Error('nothing was refused')
  }
  const broken = error(Buffer.from([0x92]))
  t.equal(broken.message, 'a record is no MessagePack value')
  t.ok(broken.cause instanceof Error)
  t.equal(error(pack(7)).message, 'a record is no MessagePack array')
  t.equal(error(pack([recordVersion, 10, 1])).message, 'a record of unknown type 10')
  t.equal(
    error(pack([recordVersion, 9, 1])).message,
    'a record of type 9 has 3 fields instead of 4',
  )
  t.end()
})

t.test('a record that is cut anywhere is refused', (t) => {
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

t.test('the error names the record, the field, what it is and what it must be', (t) => {
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
  policy({ maxRetries: 0 }, "backoff is undefined; it must be of kind 'fixed' or 'exponential'")
  refused({ type: 'TaskPaused', at: 1 }, 'TaskPaused is no type of record')
  const shown = `"${'x'.repeat(64)}"`
  refused(
    { ...created, queue: 'x'.repeat(70) },
    `TaskCreated: queue is ${shown}; it must be ${text(1, queueBytesMax)}`,
  )
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

t.test('numbers are whole and within their limits', (t) => {
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
