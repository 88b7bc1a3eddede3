import t from 'tap'
import { decodeEntry, type Entry, encodeEntry, entryBytes, isEntryOf } from '../src/index.js'

const entry: Entry = {
  kind: 'records',
  logId: '00112233445566778899aabbccddeeff',
  era: 3,
  epoch: 2 ** 40,
  firstLsn: Number.MAX_SAFE_INTEGER,
  clockMs: 1_790_000_000_000,
  writer: '0123456789abcdef',
  number: 77,
  chain: 0xdeadbeef,
  records: [Buffer.from('one'), new Uint8Array(0), Buffer.alloc(70_000, 5)],
  address: '',
}

t.test('an entry decodes to what was encoded', async (t) => {
  for (const change of [
    {},
    { kind: 'epoch', records: [], address: 'coordinator-b.example:7411' },
    { kind: 'empty', records: [] },
    { kind: 'resign', records: [] },
  ] as const) {
    const given: Entry = { ...entry, ...change }
    const { bytes, crc } = encodeEntry(given)
    const decoded = decodeEntry(bytes, 1)
    const records = decoded.records.map((record) => Buffer.from(record))
    const expected = given.records.map((record) => Buffer.from(record))
    t.same({ ...decoded, records }, { ...given, records: expected, crc })
    t.equal(bytes.length, entryBytes(given.records) + given.address.length)
  }
})

t.test('a changed bit anywhere is noticed', async (t) => {
  const { bytes } = encodeEntry({ ...entry, records: [Buffer.from('one'), Buffer.from('two')] })
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    let code: unknown
    try {
      decodeEntry(flipped, 9)
    } catch (error) {
      code = (error as { code: string }).code
    }
    const expected = bit < 32 ? 'LOG_FOREIGN' : 'LOG_DAMAGED'
    if (code !== expected) t.equal(code, expected, `bit ${bit}`)
  }
})

t.test('every shorter or longer entry is refused with its place', async (t) => {
  const { bytes } = encodeEntry({ ...entry, records: [Buffer.from('one')] })
  for (let length = 0; length < bytes.length; length++) {
    t.throws(() => decodeEntry(bytes.subarray(0, length), 42), {
      message: /^entry 42 of the shared log/,
    })
  }
  const longer = Buffer.concat([bytes, Buffer.alloc(1)])
  t.throws(() => decodeEntry(longer, 42), { code: 'LOG_DAMAGED' })
})

t.test('a newer format says that this node must be upgraded', async (t) => {
  const { crc32 } = await import('node:zlib')
  const bytes = Buffer.from(encodeEntry(entry).bytes)
  bytes.writeUInt16LE(2, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(8, 96)), 4)
  t.throws(() => decodeEntry(bytes, 5), { code: 'LOG_NEWER_FORMAT', message: /Upgrade this node/ })
})

t.test('a writer recognizes its own entry', async (t) => {
  const { bytes } = encodeEntry(entry)
  t.ok(isEntryOf(bytes, entry.writer, 77))
  t.notOk(isEntryOf(bytes, entry.writer, 78))
  t.notOk(isEntryOf(bytes, 'ffffffffffffffff', 77))
  t.notOk(isEntryOf(Buffer.from('anything'), entry.writer, 77))
})
