import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  decodeAnswer,
  decodeHello,
  decodeRequest,
  decodeWelcome,
  encodeAnswer,
  encodeHello,
  encodeRequest,
  messageLimits,
  ProtocolError,
} from '@tenure/protocol'
import { checkStructure } from '@tenure/protocol/internal'
import { character } from '@tenure/testing'
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { answers, hellos, requests } from './arbitraries.js'
import { bodyOf, fromHex, unframe } from './bytes.js'

// These tests create millions of errors; capturing a stack for each would dominate their time.
Error.stackTraceLimit = 0

const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 2000)
const decoders = [decodeRequest, decodeAnswer, decodeHello, decodeWelcome]

/** Whether the guard accepts the bytes. Errors of another class are bugs. */
function passesGuard(bytes: Uint8Array): boolean {
  try {
    checkStructure(bytes, messageLimits)
    return true
  } catch (error) {
    if (error instanceof ProtocolError && error.code === 'PROTOCOL_BAD_STRUCTURE') return false
    throw error
  }
}

/** Every decoder decodes the body or throws a ProtocolError. Other errors are bugs. */
function offer(body: Uint8Array): void {
  for (const decode of decoders) {
    try {
      decode(body)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
    }
  }
}

// ---- all short inputs

t.test('every input of up to two bytes is rejected or decoded', (t) => {
  let passed = 0
  const bytes = Buffer.alloc(2)
  for (let value = 0; value < 65_536; value++) {
    bytes.writeUInt16BE(value)
    if (passesGuard(bytes)) passed++
    offer(bytes)
    if (value < 256) {
      offer(bytes.subarray(1))
      if (passesGuard(bytes.subarray(1))) passed++
    }
  }
  offer(bytes.subarray(2))
  t.equal(passesGuard(bytes.subarray(2)), false)
  // One byte: 160 small numbers, nil, false, true, and an empty map, list and string. Two: a list of one of
  // these (166); a string of one byte below 0x80 (128); u8 and i8 (512); an empty bin 8 and str 8.
  t.equal(passed, 166 + 166 + 128 + 512 + 2)
  t.end()
})

/** The first and last byte of each MessagePack form; the bytes in between behave alike. */
const heads = [
  ...[0x00, 0x01, 0x02, 0x7f, 0x80, 0x81, 0x8f, 0x90, 0x91, 0x92, 0x9f, 0xa0, 0xa1, 0xa2, 0xbf],
  ...Array.from({ length: 32 }, (_, index) => 0xc0 + index),
  ...[0xe0, 0xff],
]

t.test('every input of three bytes, the third of each form, is rejected or decoded', (t) => {
  let passed = 0
  const bytes = Buffer.alloc(3)
  for (let value = 0; value < 65_536; value++) {
    bytes.writeUInt16BE(value)
    // Nothing may follow a small number; four of these suffice.
    if ((bytes[0]! < 0x80 || bytes[0]! >= 0xe0) && !heads.includes(bytes[0]!)) continue
    for (const head of heads) {
      bytes[2] = head
      if (!passesGuard(bytes)) continue
      passed++
      // Only a list can be a message.
      if (bytes[0] === 0x91 || bytes[0] === 0x92) offer(bytes)
    }
  }
  // u16 and i16; lists of one and two values; a map of one pair; strings of two bytes; bin 8 and str 8 of one
  // byte; the empty str 16, bin 16, list 16 and map 16.
  const lists = 12 + 4 + 2 * heads.length + 2 + 166 * 12
  const texts = 128 * 4 + 30 * 11
  t.equal(passed, 2 * 256 * heads.length + lists + 12 + texts + heads.length + 4 + 4)
  t.end()
})

// ---- random structured inputs

/** Some MessagePack, and whether the guard must accept it. */
interface Piece {
  readonly bytes: Buffer
  readonly clean: boolean
}

const be = (width: number, value: number): Buffer => {
  const bytes = Buffer.alloc(width)
  bytes.writeUIntBE(value, 0, width)
  return bytes
}

function piece(clean: boolean, ...parts: (number | Uint8Array)[]): Piece {
  const bytes = parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : part))
  return { bytes: Buffer.concat(bytes), clean }
}

const random = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

const scalar = fc.oneof(
  fc.integer({ min: 0, max: 127 }).map((value) => piece(true, value)),
  fc.integer({ min: 0xe0, max: 0xff }).map((value) => piece(true, value)),
  fc.constantFrom(0xc0, 0xc2, 0xc3).map((value) => piece(true, value)),
  ...[
    [0xca, 4],
    [0xcb, 8],
    [0xcc, 1],
    [0xcd, 2],
    [0xce, 4],
    [0xcf, 8],
    [0xd0, 1],
    [0xd1, 2],
    [0xd2, 4],
    [0xd3, 8],
  ].map(([head, width]) => random(width!).map((value) => piece(true, head!, value))),
)

/** The head of a string, of bytes or of a container, in any form that can hold this length. */
function headOf(forms: [least: number, head: number, width: number][], length: number) {
  const fits = forms.filter(
    ([least, , width]) => length <= (width === 0 ? least : 256 ** width - 1),
  )
  return fc
    .constantFrom(...fits)
    .map(([, head, width]) =>
      width === 0 ? Buffer.of(head + length) : Buffer.concat([Buffer.of(head), be(width, length)]),
    )
}

const textForms: [number, number, number][] = [
  [31, 0xa0, 0],
  [0, 0xd9, 1],
  [0, 0xda, 2],
  [0, 0xdb, 4],
]
const binForms: [number, number, number][] = [
  [0, 0xc4, 1],
  [0, 0xc5, 2],
  [0, 0xc6, 4],
]
const listForms: [number, number, number][] = [
  [15, 0x90, 0],
  [0, 0xdc, 2],
  [0, 0xdd, 4],
]
const mapForms: [number, number, number][] = [
  [15, 0x80, 0],
  [0, 0xde, 2],
  [0, 0xdf, 4],
]

const names = [
  '__proto__',
  'constructor',
  'toString',
  'id',
  'id',
  'length',
  '\ufeff',
  '☃'.repeat(20),
]
const goodText: Arbitrary<Piece> = fc
  .oneof(fc.string({ unit: character, maxLength: 40 }), fc.constantFrom(...names))
  .map((value) => Buffer.from(value))
  .chain((value) => headOf(textForms, value.length).map((head) => piece(true, head, value)))

/** Half a character, an overlong one, a surrogate, one beyond Unicode, a lone continuation byte. */
const notUtf8 = ['c3', 'c0af', 'eda080', 'f4908080', '80', 'ff', '61e28261'].map(fromHex)
const badText: Arbitrary<Piece> = fc
  .constantFrom(...notUtf8)
  .chain((value) => headOf(textForms, value.length).map((head) => piece(false, head, value)))

const bin: Arbitrary<Piece> = fc
  .uint8Array({ maxLength: 40 })
  .chain((value) => headOf(binForms, value.length).map((head) => piece(true, head, value)))

/** Records (0x72), sets, expressions, errors, dates, references: extensions that msgpackr interprets. */
const extensionTypes = [
  0x72, 0x73, 0x78, 0x65, 0xff, 0x69, 0x70, 0x74, 0x62, 0x64, 0x42, 0x00, 0x01,
]
const extension: Arbitrary<Piece> = fc
  .tuple(
    fc.constantFrom(...extensionTypes),
    fc.constantFrom(...[1, 2, 4, 8, 16].map((size, index) => [0xd4 + index, size] as const)),
    fc.uint8Array({ minLength: 16, maxLength: 16 }),
    fc.boolean(),
  )
  .map(([type, [head, size], data, isFixed]) => {
    const content = data.subarray(0, size)
    if (isFixed) return piece(false, head, type, content)
    return piece(false, 0xc7, size, type, content)
  })

function together(head: Buffer, parts: readonly Piece[]): Piece {
  const clean = parts.every((part) => part.clean)
  return piece(clean, head, ...parts.map((part) => part.bytes))
}

/** Each of these is rejected wherever it occurs. */
const dirty: Arbitrary<Piece> = fc.oneof(
  badText,
  extension,
  fc.constant(piece(false, 0xc1)),
  // Announces more bytes than can follow.
  fc
    .tuple(fc.constantFrom(0xdb, 0xc6, 0xdd, 0xdf), fc.integer({ min: 2 ** 24, max: 2 ** 32 - 1 }))
    .map(([head, length]) => piece(false, head, be(4, length))),
  // A map with a key that is not a string.
  fc
    .tuple(fc.oneof(scalar, bin), scalar)
    .map(([key, value]) => piece(false, 0x81, key.bytes, value.bytes)),
)

const { anything } = fc.letrec<{ anything: Piece }>((tie) => ({
  anything: fc.oneof(
    { maxDepth: messageLimits.depthMax - 2 },
    { weight: 8, arbitrary: fc.oneof(scalar, goodText, bin) },
    {
      weight: 3,
      arbitrary: fc
        .array(tie('anything'), { maxLength: 20 })
        .chain((own) => headOf(listForms, own.length).map((head) => together(head, own))),
    },
    {
      weight: 3,
      arbitrary: fc
        .array(fc.tuple(goodText, tie('anything')), { maxLength: 17 })
        .chain((own) => headOf(mapForms, own.length).map((head) => together(head, own.flat()))),
    },
    { weight: 1, arbitrary: dirty },
  ),
}))

/** Type and id are valid, because random ones would fail immediately. */
const messages = fc
  .tuple(
    fc.oneof(fc.integer({ min: 0, max: 14 }), fc.integer({ min: 63, max: 79 })),
    fc.array(anything, { maxLength: 8 }),
  )
  .map(([type, values]) => together(Buffer.of(0x92 + values.length, type, 7), values))

t.test('the guard accepts exactly the well-formed inputs, and the decoders handle them', (t) => {
  const counts = { through: 0, refused: 0 }
  const property = fc.property(fc.oneof(anything, messages), ({ bytes, clean }) => {
    if (passesGuard(bytes) !== clean)
      throw new Error(`the guard misjudged an input; clean: ${clean}`)
    counts[clean ? 'through' : 'refused']++
    offer(bytes)
  })
  fc.assert(property, { numRuns: 3 * numRuns })
  t.comment(`${counts.through} through, ${counts.refused} refused`)
  t.ok(counts.through > numRuns / 2 && counts.refused > numRuns / 20)
  t.end()
})

t.test('one malformed part is rejected at any place and depth', (t) => {
  const places = fc.tuple(fc.array(anything, { maxLength: 5 }), dirty, fc.nat(), fc.nat(3))
  const property = fc.property(places, ([values, bad, place, depth]) => {
    let inner = bad
    for (let level = 0; level < depth; level++) inner = together(Buffer.of(0x91), [inner])
    const with_ = values.toSpliced(place % (values.length + 1), 0, inner)
    const { bytes } = together(Buffer.of(0x92 + with_.length, 1, 7), with_)
    if (passesGuard(bytes)) throw new Error('a malformed part passed')
    offer(bytes)
  })
  fc.assert(property, { numRuns })
  t.end()
})

t.test('mutated messages are rejected or decoded', (t) => {
  const frames = fc.oneof(
    requests.map(encodeRequest),
    answers.map(encodeAnswer),
    hellos.map(encodeHello),
  )
  const bends = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })
  const property = fc.property(frames, bends, fc.nat(), (frame, changes, at) => {
    const body = Buffer.from(unframe(frame))
    const cut = body.subarray(0, at % body.length)
    if (passesGuard(cut)) throw new Error('a truncated message passed')
    if (passesGuard(Buffer.concat([body, cut.subarray(0, 1), Buffer.of(0)]))) {
      throw new Error('bytes after a message passed')
    }
    // Mutations go to the beginning, where the structure is; a change inside a long payload has no effect.
    for (const [place, byte] of changes) body[place % Math.min(body.length, 60)] = byte
    offer(body)
  })
  fc.assert(property, { numRuns: numRuns / 2 })
  t.end()
})

t.test('random bytes are rejected or decoded', (t) => {
  const property = fc.property(fc.uint8Array({ maxLength: 60 }), offer)
  fc.assert(property, { numRuns })
  t.end()
})

// ---- single cases

t.test('a key named __proto__ changes no prototype, and the last of two equal keys counts', (t) => {
  const key = (name: string) => Buffer.concat([Buffer.of(0xa0 + name.length), Buffer.from(name)])
  const polluting = fromHex(`81${key('polluted').toString('hex')}c3`)
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    const body = Buffer.concat([fromHex('93490781'), key(name), polluting])
    const { task } = decodeAnswer(body) as { task: object }
    t.equal(Object.getPrototypeOf(task), Object.prototype)
    t.equal((task as { polluted?: unknown }).polluted, undefined)
    t.equal(({} as { polluted?: unknown }).polluted, undefined)
  }
  t.match(decodeAnswer(fromHex('93 49 07 82 a161 01 a161 02')), { task: { a: 2 } })
  t.end()
})

t.test('a string keeps its byte order mark, at any length', (t) => {
  for (const reason of [
    '\ufeff',
    '\ufeffabc',
    `\ufeff${'x'.repeat(100)}`,
    '\0',
    'ü'.repeat(2000),
  ]) {
    t.match(decodeRequest(bodyOf(6, 1, 1, reason)), { kind: 'kill', reason })
  }
  t.end()
})

t.test('a message at the limit of levels or values is accepted, and one more is rejected', (t) => {
  const nested = (levels: number) => Buffer.concat([Buffer.alloc(levels, 0x91), Buffer.of(0xc0)])
  t.equal(passesGuard(nested(messageLimits.depthMax)), true)
  t.equal(passesGuard(nested(messageLimits.depthMax + 1)), false)
  const maps = (levels: number) =>
    Buffer.concat([...new Array<Buffer>(levels).fill(fromHex('81a161')), Buffer.of(0xc0)])
  t.equal(passesGuard(maps(messageLimits.depthMax)), true)
  t.equal(passesGuard(maps(messageLimits.depthMax + 1)), false)
  const wide = (values: number) =>
    Buffer.concat([Buffer.of(0xdd), be(4, values), Buffer.alloc(values)])
  t.equal(passesGuard(wide(messageLimits.valuesMax - 1)), true)
  t.equal(passesGuard(wide(messageLimits.valuesMax)), false)
  t.end()
})

t.test('a container larger than the remaining bytes is rejected at its head', (t) => {
  for (const hex of ['920b', '93070181a0', 'dc00030b01', 'df000000020101', 'ddffffffff0b01']) {
    const message = /a list or map announces \d+ values, but only \d+ bytes follow/
    t.throws(() => checkStructure(fromHex(hex), messageLimits), { message }, hex)
  }
  t.end()
})

t.test('the largest page of tasks passes the guard', (t) => {
  const task = {
    taskId: 1,
    queue: 'q'.repeat(64),
    state: 'COMPLETED',
    attempt: 1,
    currentLeaseId: null,
    executionWindowMs: 1,
    createdAt: 1,
    notBefore: 1,
    stateSince: 1,
    eligibleAt: 1,
    retryPolicy: { maxRetries: 1, backoff: { kind: 'exponential', initialMs: 1, maxMs: 1 } },
    requestId: 'r',
    failures: 1,
    expiriesInARow: 1,
    endedLsn: 1,
    reason: 'r',
  }
  const tasks = new Array(messageLimits.listMax).fill(task)
  const frame = encodeAnswer({ kind: 'tasks', id: 1, tasks })
  t.match(decodeAnswer(unframe(frame)), { kind: 'tasks', tasks: { length: 1000 } })
  t.end()
})

const mebibyte = 2 ** 20
const bombs: [name: string, body: Buffer][] = [
  ['a list of 2^32 - 1 values', fromHex('ddffffffff')],
  ['a list of 2^32 - 1 values, one of them present', fromHex('ddffffffff01')],
  ['a list of 65535 values', fromHex('dcffff')],
  ['a map of 2^32 - 1 pairs', fromHex('dfffffffff')],
  ['a map of 65535 pairs', fromHex('deffff')],
  ['a string of 2^32 - 1 bytes', fromHex('dbffffffff')],
  ['bytes, 2^32 - 1 of them', fromHex('c6ffffffff')],
  ['an extension of 2^32 - 1 bytes', fromHex('c9ffffffff01')],
  ['a submission with a missing payload', fromHex('990107c6ffffffffc0c0c0c0c0c0')],
  ['a million nested lists', Buffer.alloc(1_000_000, 0x91)],
  ['a million nested maps', Buffer.alloc(1_000_000, 0x81)],
  ['a million nested long lists', Buffer.alloc(1_000_000, 0xdd)],
  [
    'nested lists that each announce all remaining bytes',
    Buffer.alloc(mebibyte, fromHex('dd000000ff')),
  ],
  [
    'a mebibyte of values',
    Buffer.concat([Buffer.of(0xdd), be(4, mebibyte), Buffer.alloc(mebibyte)]),
  ],
  [
    'a mebibyte of empty maps',
    Buffer.concat([Buffer.of(0xdd), be(4, mebibyte), Buffer.alloc(mebibyte, 0x80)]),
  ],
  [
    'a mebibyte of empty lists',
    Buffer.concat([Buffer.of(0xdd), be(4, mebibyte), Buffer.alloc(mebibyte, 0x90)]),
  ],
  [
    'a map of half a mebibyte of pairs',
    Buffer.concat([Buffer.of(0xdf), be(4, mebibyte / 2), Buffer.alloc(mebibyte, fromHex('a0c0'))]),
  ],
  ['a definition of a record', fromHex('92d47240 92a161a162 01 02')],
  ['a set', fromHex('91d47300 93010203')],
  ['an expression', fromHex('91d47800 92a52861 2b292b a0')],
  ['an error', fromHex('91d46500 92a5457272 6f72 a178')],
  ['a date', fromHex('91d6ff00000000')],
  ['bundled strings', fromHex('91d46200 ce00000010')],
  ['a reference to itself', fromHex('91d66900000001 91d67000000001')],
  ['a buffer of doubles', fromHex('c7097408 0000000000000000')],
  ['a big integer', fromHex('91c7044201020304')],
  ['the byte that MessagePack never uses', fromHex('91c1')],
]

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

t.test('input that demands memory, depth or classes is rejected immediately', (t) => {
  collectGarbage()
  for (const [name, body] of bombs) {
    const memory = process.memoryUsage()
    const started = process.cpuUsage()
    t.equal(passesGuard(body), false, name)
    offer(body)
    const { user, system } = process.cpuUsage(started)
    const workedMs = (user + system) / 1000
    const { heapTotal, external } = process.memoryUsage()
    const grownBy = heapTotal - memory.heapTotal + external - memory.external
    t.ok(grownBy < 16 * mebibyte, `${name}: ${grownBy} bytes`)
    // It takes a few milliseconds of CPU time, which does not depend on other processes.
    t.ok(workedMs < 500, `${name}: ${workedMs} ms`)
  }
  t.end()
})
