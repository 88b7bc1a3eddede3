import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { pack, unpack } from 'msgpackr'
import t from 'tap'
import { Unreadable, ValueReader, ValueWriter } from '../src/index.js'

/** Where the form of a value changes, and what lies beside it. */
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

/** Reads what it has been told to expect. */
function readLike(reader: ValueReader, expected: unknown): unknown {
  if (expected === null) return reader.takeNil() ? null : 'no nil'
  if (typeof expected === 'number') return reader.whole()
  if (typeof expected === 'string') return reader.text()
  if (typeof expected === 'boolean') return reader.boolean()
  if (expected instanceof Uint8Array) return Uint8Array.from(reader.bytes())
  const values = expected as readonly unknown[]
  const length = reader.list()
  return values.slice(0, length).map((value) => readLike(reader, value))
}

t.test('what was written is read, and is what msgpackr writes and reads', (t) => {
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

t.test('other numbers and maps are written as what they are', (t) => {
  for (const value of [-1, 0.5, -0.25, Number.NaN, 2 ** 60, Number.NEGATIVE_INFINITY]) {
    t.ok(Object.is(unpack(write(value)), value), String(value))
    t.throws(() => new ValueReaderOf(write(value)).whole(), Unreadable)
  }
  const map = { a: 1, ü: [true, { b: null }], c: undefined }
  t.same(unpack(write(map)), { ...map, c: null })
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`key ${index}`, index]))
  t.same(unpack(write(many)), many)
  t.end()
})

t.test('lists and maps of more than 65,535 are written as what they are', (t) => {
  for (const count of [0xffff, 0x1_0000, 70_000]) {
    const list = Array.from({ length: count }, (_, index) => index)
    // Not with `strictSame`, which prepares to tell of the difference whether there is one or not.
    t.ok(isDeepStrictEqual(unpack(write(list)), list), `a list of ${count}`)
    const map = Object.fromEntries(list.map((index) => [`k${index}`, index]))
    t.ok(isDeepStrictEqual(unpack(write(map)), map), `a map of ${count}`)
  }
  t.throws(() => new ValueReaderOf(write(new Array(0x1_0000).fill(0))).list(), Unreadable)
  t.end()
})

t.test('what is no value is a TypeError', (t) => {
  t.throws(() => write(10n), TypeError)
  t.throws(() => write(() => 1), TypeError)
  t.throws(() => write('\ud800'), TypeError)
  t.throws(() => write('long enough not to be short, and half a pair: \ud800'), TypeError)
  t.end()
})

t.test('messages stay what they are when others are written, and a head is left free', (t) => {
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

t.test('a message that was begun and not ended is dropped', (t) => {
  const writer = new ValueWriter()
  writer.begin()
  writer.text('never sent')
  writer.begin()
  writer.number(7)
  t.same([...writer.end()], [7])
  t.end()
})

t.test('a message larger than a piece of memory is written as it is', (t) => {
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

t.test('every other spelling, and every cut, is refused', (t) => {
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
