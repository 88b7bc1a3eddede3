import { deepStrictEqual } from 'node:assert'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { decodeRequest, encodeHello, encodeRequest, FrameDecoder } from '@tenure/protocol'
import { frameHeadBytes } from '@tenure/protocol/internal'
import fc from 'fast-check'
import t from 'tap'
import { frameOf, unframe } from './bytes.js'

const frames = [
  encodeHello({ version: 1, role: 'admin', name: 'w', capacity: 3 }),
  encodeRequest({ kind: 'submit', id: 1, payload: Buffer.alloc(300, 7), requestId: 'r' }),
  encodeRequest({ kind: 'ping', id: 2 }),
  Buffer.from([0, 0, 0, 0]),
  encodeRequest({ kind: 'lease', id: 3, queues: ['a', 'ü'], waitMs: 2 ** 40 }),
  encodeRequest({ kind: 'complete', id: 4, taskId: 1, leaseId: 2, result: Buffer.alloc(40) }),
]
const session = Buffer.concat(frames)
const bodies = frames.map((frame) => unframe(frame).toString('hex'))

/** The bodies that a decoder returns for these chunks, read after each chunk. */
function decode(chunks: readonly Uint8Array[], bodyBytesMax = 4096): string[] {
  const decoder = new FrameDecoder(bodyBytesMax)
  const found: string[] = []
  for (const chunk of chunks) {
    decoder.push(chunk)
    for (let body = decoder.next(); body; body = decoder.next()) {
      found.push(Buffer.from(body).toString('hex'))
    }
  }
  return found
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const places = [0, ...[...at].sort((a, b) => a - b), bytes.length]
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end))
}

t.test('HTTP and TLS are recognized by their first bytes', (t) => {
  const said = (bytes: Uint8Array) => {
    try {
      decode([bytes])
    } catch (error) {
      return error
    }
    return undefined
  }
  const code = 'PROTOCOL_FRAME_TOO_LARGE'
  for (const text of ['GET / HTTP/1.1', 'POST /', 'HTTP/1.1 400 Bad Request', 'PRI * HTTP/2.0']) {
    t.match(said(Buffer.from(text)), { code, message: /^it looks like HTTP; .* 7411/ }, text)
  }
  // A client's first record, and the alert that answers a peer without TLS.
  for (const bytes of [Buffer.of(22, 3, 1, 2, 0), Buffer.of(21, 3, 3, 0, 2, 2, 70)]) {
    t.match(said(bytes), { code, message: /^it looks like TLS/ })
  }
  t.match(said(Buffer.from('ABCD')), {
    code,
    message: /^a frame has 1094861636 bytes; at most 4096/,
  })
  t.end()
})

t.test('a session decodes the same when cut in two at any place', (t) => {
  for (let at = 0; at <= session.length; at++) deepStrictEqual(decode(cut(session, [at])), bodies)
  t.end()
})

t.test('a session decodes the same when cut in three at any places', (t) => {
  const short = Buffer.concat(frames.slice(2, 5))
  const expected = bodies.slice(2, 5)
  for (let first = 0; first <= short.length; first++) {
    for (let second = first; second <= short.length; second++) {
      deepStrictEqual(decode(cut(short, [first, second])), expected)
    }
  }
  t.end()
})

t.test('a session decodes the same when cut at random places', (t) => {
  const places = fc.array(fc.nat(session.length), { maxLength: 20 })
  fc.assert(fc.property(places, (at) => deepStrictEqual(decode(cut(session, at)), bodies)))
  t.end()
})

t.test('a session decodes the same byte by byte', (t) => {
  t.strictSame(decode([...session].map((byte) => Uint8Array.of(byte))), bodies)
  t.end()
})

t.test('next() returns many frames of one chunk one by one', (t) => {
  const many = new Array<Buffer>(1000).fill(session)
  t.strictSame(decode([Buffer.concat(many)]), new Array(1000).fill(bodies).flat())
  t.end()
})

t.test('frames pushed ahead are returned in order', (t) => {
  const decoder = new FrameDecoder(4096)
  for (const piece of cut(session, [1, 5, 6, 100, 330, 340])) decoder.push(piece)
  for (const body of bodies) t.equal(Buffer.from(decoder.next()!).toString('hex'), body)
  t.equal(decoder.next(), undefined)
  t.equal(decoder.hasUnreadBytes, false)
  t.end()
})

t.test('an incomplete frame counts as unread until its last byte', (t) => {
  const decoder = new FrameDecoder(4096)
  const frame = frames[2]!
  t.equal(decoder.hasUnreadBytes, false)
  for (const byte of frame.subarray(0, -1)) {
    decoder.push(Uint8Array.of(byte))
    t.equal(decoder.next(), undefined)
    t.equal(decoder.hasUnreadBytes, true)
  }
  decoder.push(frame.subarray(-1))
  t.strictSame(decodeRequest(decoder.next()!), { kind: 'ping', id: 2 })
  t.equal(decoder.hasUnreadBytes, false)
  decoder.push(new Uint8Array(0))
  t.equal(decoder.hasUnreadBytes, false)
  t.end()
})

const head = (length: number) => {
  const bytes = Buffer.alloc(frameHeadBytes)
  bytes.writeUInt32BE(length)
  return bytes
}

t.test('a length over the limit is rejected once its four bytes have arrived', (t) => {
  for (const length of [4097, 65_536, 2 ** 31, 2 ** 32 - 1]) {
    const decoder = new FrameDecoder(4096)
    for (const byte of head(length).subarray(0, 3)) {
      decoder.push(Uint8Array.of(byte))
      t.equal(decoder.next(), undefined)
    }
    decoder.push(head(length).subarray(3))
    const refusal = {
      code: 'PROTOCOL_FRAME_TOO_LARGE',
      message: new RegExp(`^a frame has ${length}`),
    }
    t.throws(() => decoder.next(), refusal)
    t.throws(() => decoder.next(), refusal, 'and stays rejected')
  }
  t.end()
})

t.test('a frame of exactly the limit is accepted, before and after raising it', (t) => {
  const decoder = new FrameDecoder(8)
  decoder.push(Buffer.concat([head(8), Buffer.alloc(8), head(9), Buffer.alloc(9)]))
  t.equal(decoder.next()?.length, 8)
  decoder.allow(9)
  t.equal(decoder.next()?.length, 9)
  t.end()
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function bytesInUse(): number {
  // The first collection finds unreferenced buffers, the second one frees them.
  collectGarbage()
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

t.test('an announced length reserves no memory', (t) => {
  const before = bytesInUse()
  const decoders = Array.from({ length: 1000 }, () => {
    const decoder = new FrameDecoder(2 ** 32 - 1)
    decoder.push(Buffer.concat([head(2 ** 32 - 1), Buffer.alloc(10)]))
    t.equal(decoder.next(), undefined)
    return decoder
  })
  t.ok(bytesInUse() - before < 4_000_000)
  t.ok(decoders.every((decoder) => decoder.hasUnreadBytes))
  t.end()
})

t.test('a frame received byte by byte uses about its own size', (t) => {
  const bodyBytes = 500_000
  const decoder = new FrameDecoder(bodyBytes)
  decoder.push(head(bodyBytes))
  const before = bytesInUse()
  for (let sent = 1; sent < bodyBytes; sent++) decoder.push(Uint8Array.of(sent))
  t.equal(decoder.next(), undefined)
  t.ok(bytesInUse() - before < 10 * bodyBytes)
  decoder.push(Uint8Array.of(0))
  t.equal(decoder.next()?.length, bodyBytes)
  t.end()
})

t.test('bytes copied by keep() survive reuse of the pushed memory', (t) => {
  const sent = Buffer.concat([frameOf(Buffer.from('first')), frameOf(Buffer.from('second one'))])
  for (let pieceBytes = 1; pieceBytes <= sent.length; pieceBytes++) {
    const decoder = new FrameDecoder(100)
    const memory = Buffer.alloc(pieceBytes)
    const found: string[] = []
    for (let at = 0; at < sent.length; at += pieceBytes) {
      const count = sent.copy(memory, 0, at, at + pieceBytes)
      decoder.push(memory.subarray(0, count))
      for (let body = decoder.next(); body !== undefined; body = decoder.next())
        found.push(Buffer.from(body).toString())
      decoder.keep()
      memory.fill(0xff)
    }
    t.same(found, ['first', 'second one'], `pieces of ${pieceBytes}`)
    t.notOk(decoder.hasUnreadBytes)
  }
  new FrameDecoder(100).keep()
  t.end()
})
