import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { pack, unpack } from 'msgpackr'
import t from 'tap'
import { Unreadable, ValueReader, ValueWriter } from '../src/index.js'

/** Numbers at which the encoded form changes, and their neighbours. */
const edges = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 2 ** 31, 2 ** 32 - 1, 2 ** 32]
const whole = fc.oneof(fc.constantFrom(...edges, Number.MAX_SAFE_INTEGER), fc.maxSafeNat())
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.nat(70_000).map((length) => 'x'.repeat(length)),
)
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.nat(70_000).map((length) => new Uint8Array(length)),
)
const scalar = fc.oneof(whole, text, bytes, fc.boolean(), fc.constant(null))
const list = fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 40 })), { maxLength: 40 })

class ValueReaderOf extends ValueReader {
  constructor(bytes: Uint8Array) {
    super()
    this.begin(bytes)
  }
}

function write(value: unknown): Buffer {
  const writer = new ValueWriter()
  writer.begin()
  writer.value(value)
  return writer.end()
}

/** Reads values of the same types as `expected`. */
function readLike(reader: ValueReader, expected: unknown): unknown {
  if (expected === null) return reader.takeNil() ? null : 'not nil'
  if (typeof expected === 'number') return reader.whole()
  if (typeof expected === 'string') return reader.text()
  if (typeof expected === 'boolean') return reader.boolean()
  if (expected instanceof Uint8Array) return Uint8Array.from(reader.bytes())
  const values = expected as readonly unknown[]
  const length = reader.list()
  return values.slice(0, length).map((value) => readLike(reader, value))
}

t.test('values survive a round trip, and the bytes equal those of msgpackr', (t) => {
  fc.assert(
    fc.property(list, (values) => {
      const written = write(values)
      const reader = new ValueReader()
      reader.begin(written)
      const isRead = isSame(readLike(reader, values), values) && reader.isAtEnd
      reader.requireEnd()
      return isRead && isSame(unpack(written), values) && written.equals(pack(values))
    }),
    { numRuns: 300 },
  )
  t.end()
})

function isSame(a: unknown, b: unknown): boolean {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.from(a).equals(b)
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, index) => isSame(value, b[index]))
  return Object.is(a, b)
}

t.test('numbers that the reader rejects are still written exactly', (t) => {
  for (const value of [-1, 0.5, -0.25, Number.NaN, 2 ** 60, Number.NEGATIVE_INFINITY]) {
    t.ok(Object.is(unpack(write(value)), value), String(value))
    t.throws(() => new ValueReaderOf(write(value)).whole(), Unreadable)
  }
  t.end()
})

t.test('a list of more than 65,535 values is written, and rejected on reading', (t) => {
  for (const count of [0xffff, 0x1_0000, 70_000]) {
    const list = Array.from({ length: count }, (_, index) => index)
    // `strictSame` would build a diff even when the lists are equal.
    t.ok(isDeepStrictEqual(unpack(write(list)), list), `a list of ${count}`)
  }
  t.throws(() => new ValueReaderOf(write(new Array(0x1_0000).fill(0))).list(), Unreadable)
  t.end()
})

t.test('writing an unsupported value throws a TypeError', (t) => {
  t.throws(() => write(10n), TypeError)
  t.throws(() => write(() => 1), TypeError)
  t.throws(() => write({ a: 1 }), TypeError)
  t.throws(() => write(new Date()), TypeError)
  t.throws(() => write('\ud800'), TypeError)
  t.throws(() => write('long enough not to be short, and half a pair: \ud800'), TypeError)
  t.end()
})

t.test('later messages do not change earlier ones, and the head stays free', (t) => {
  const writer = new ValueWriter()
  const written: Buffer[] = []
  for (let index = 0; index < 5000; index++) {
    writer.begin(4)
    writer.list(2)
    writer.number(index)
    writer.text('x'.repeat(index % 97))
    const message = writer.end()
    message.writeUInt32BE(index)
    written.push(message)
  }
  const found = written.map((message) => [message.readUInt32BE(), unpack(message.subarray(4))])
  const wrong = found.find(
    ([head, message], index) =>
      !isDeepStrictEqual([head, message], [index, [index, 'x'.repeat(index % 97)]]),
  )
  t.equal(wrong, undefined)
  t.end()
})

t.test('an unfinished message is dropped', (t) => {
  const writer = new ValueWriter()
  writer.begin()
  writer.text('never sent')
  writer.begin()
  writer.number(7)
  t.same([...writer.end()], [7])
  t.end()
})

t.test('a message larger than a piece is written whole', (t) => {
  const writer = new ValueWriter()
  const large = new Uint8Array(100_000).fill(7)
  for (const value of [large, 'small', large]) {
    writer.begin()
    writer.value(value)
    const found = unpack(writer.end())
    t.ok(isSame(found, value))
  }
  t.end()
})

t.test('every longer spelling and every truncated value is rejected', (t) => {
  const refused: readonly [hex: string, read: (reader: ValueReader) => unknown][] = [
    ['cc7f', (reader) => reader.whole()],
    ['cd00ff', (reader) => reader.whole()],
    ['ce0000ffff', (reader) => reader.whole()],
    ['cb3ff0000000000000', (reader) => reader.whole()],
    ['cf0000000000000001', (reader) => reader.whole()],
    ['ff', (reader) => reader.whole()],
    ['d90161', (reader) => reader.text()],
    ['a1ff', (reader) => reader.text()],
    ['a261', (reader) => reader.text()],
    ['c5000161', (reader) => reader.bytes()],
    ['c40261', (reader) => reader.bytes()],
    ['dc000101', (reader) => reader.list()],
    ['01', (reader) => reader.boolean()],
    ['', (reader) => reader.whole()],
  ]
  for (const [hex, read] of refused) {
    const reader = new ValueReaderOf(Buffer.from(hex, 'hex'))
    t.throws(() => read(reader), Unreadable, hex)
  }
  const behind = new ValueReaderOf(Buffer.from('0101', 'hex'))
  behind.whole()
  t.throws(() => behind.requireEnd(), Unreadable)
  t.end()
})

t.test('number() reads each MessagePack form of a number', (t) => {
  const forms: readonly [hex: string, value: number | undefined][] = [
    ['05', 5],
    ['cc05', 5],
    ['cd0005', 5],
    ['ce00000005', 5],
    ['cf0000000000000005', 5],
    ['cf001fffffffffffff', 2 ** 53 - 1],
    ['cfffffffffffffffff', 2 ** 64],
    ['d005', 5],
    ['d0ff', -1],
    ['d1ff00', -256],
    ['d200000005', 5],
    ['d2ffffffff', -1],
    ['d3ffffffffffffffff', -1],
    ['d38000000000000000', -(2 ** 63)],
    ['d3001fffffffffffff', 2 ** 53 - 1],
    ['ca40a00000', 5],
    ['cabf000000', -0.5],
    ['cb4014000000000000', 5],
    ['cb7ff8000000000000', Number.NaN],
    ['ff', -1],
    ['e0', -32],
    ['a0', undefined],
    ['', undefined],
  ]
  for (const [hex, value] of forms) {
    const bytes = Buffer.from(hex, 'hex')
    const reader = new ValueReaderOf(bytes)
    t.ok(Object.is(reader.number(), value), hex)
    t.equal(reader.isAtEnd, value !== undefined || hex === '', hex)
    if (value !== undefined && Number.isSafeInteger(value)) t.equal(unpackNumber(bytes), value, hex)
    for (let end = 1; end < bytes.length; end++) {
      t.throws(() => new ValueReaderOf(bytes.subarray(0, end)).number(), Unreadable, hex)
    }
  }
  t.end()
})

function unpackNumber(bytes: Buffer): number {
  return Number(unpack(bytes))
}

t.test('the spelling `any` accepts heads that are longer than necessary', (t) => {
  const read = (hex: string) => {
    const reader = new ValueReader('any')
    reader.begin(Buffer.from(hex, 'hex'))
    return reader
  }
  for (const hex of ['a161', 'd90161', 'da000161', 'db0000000161']) t.equal(read(hex).text(), 'a')
  for (const hex of ['c40161', 'c5000161', 'c60000000161']) t.same([...read(hex).bytes()], [0x61])
  for (const hex of ['9101', 'dc000101', 'dd0000000101']) t.equal(read(hex).list(), 1)
  // Malformed and truncated values are still rejected.
  for (const hex of ['a1ff', 'd90261', 'dbffffffff', 'c40161', 'd4', '']) {
    t.throws(() => read(hex).text(), Unreadable, hex)
  }
  t.end()
})

t.test('strings read before a string do not change it', (t) => {
  const alike = fc.string({ unit: fc.constantFrom('a', 'b', 'e', 'é', '\0'), maxLength: 14 })
  const writer = new ValueWriter()
  const reader = new ValueReader()
  const property = fc.property(fc.array(alike, { maxLength: 40 }), (texts) => {
    writer.begin()
    for (const text of texts) writer.text(text)
    reader.begin(writer.end())
    return texts.every((text) => reader.text() === text) && reader.isAtEnd
  })
  fc.assert(property, { numRuns: 1000 })
  t.end()
})

t.test('`kind` returns the kind of the next value without reading it', (t) => {
  const kinds: readonly [kind: string | undefined, hex: string][] = [
    ['number', '007fe0ffcacbcccdcecfd0d1d2d3'],
    ['text', 'a0bfd9dadb'],
    ['bytes', 'c4c5c6'],
    ['list', '909fdcdd'],
    ['map', '808fdedf'],
    ['boolean', 'c2c3'],
    ['nil', 'c0'],
    [undefined, 'c1c7c8c9d4d5d6d7d8'],
  ]
  for (const [kind, heads] of kinds) {
    for (const head of Buffer.from(heads, 'hex')) {
      const reader = new ValueReaderOf(Uint8Array.of(head))
      t.equal(reader.kind, kind, head.toString(16))
      t.notOk(reader.isAtEnd)
    }
  }
  t.equal(new ValueReaderOf(Uint8Array.of()).kind, undefined)
  t.end()
})

t.test('an encoded value is written as it is, and the rest of an input is a view of it', (t) => {
  const encoded = pack({ a: 1 })
  const writer = new ValueWriter()
  writer.begin()
  writer.list(2)
  writer.number(7)
  writer.encoded(encoded)
  const reader = new ValueReaderOf(writer.end())
  t.equal(reader.list(), 2)
  t.equal(reader.number(), 7)
  t.strictSame(Buffer.from(reader.rest()), encoded)
  t.ok(reader.isAtEnd)
  t.equal(reader.rest().length, 0)
  t.end()
})
