import { frameOf } from '../corpus/messages.js'

/**
 * Malicious bytes. Each bomb has to end its own connection or be rejected, and must not affect
 * others.
 */
export interface Bomb {
  readonly name: string
  readonly bytes: Uint8Array
  /** The message is incomplete; the rest never arrives. */
  readonly isUnfinished?: boolean
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const mebibyte = 2 ** 20
/** Fits into a frame with some space left. */
const most = mebibyte - 64

function sized(head: number, length: number): Buffer {
  const bytes = Buffer.alloc(5, head)
  bytes.writeUInt32BE(length, 1)
  return bytes
}

/** A list or map of this many values, limited by the frame, each with the same bytes. */
function many(head: number, count: number, each: Uint8Array): Buffer {
  return Buffer.concat([sized(head, count), Buffer.alloc(count * each.length, each)])
}

const bodies: readonly (readonly [name: string, body: Uint8Array])[] = [
  ['a list of 2^32 - 1 values', hex('ddffffffff')],
  [
    'a list of 2^27 values, most of them missing',
    Buffer.concat([sized(0xdd, 2 ** 27), hex('0102')]),
  ],
  ['a map of 2^32 - 1 pairs', hex('dfffffffff')],
  ['a text of 2^32 - 1 bytes', hex('dbffffffff')],
  ['binary data of 2^32 - 1 bytes', hex('c6ffffffff')],
  ['an extension of 2^32 - 1 bytes', hex('c9ffffffff01')],
  ['a submission whose payload is missing', hex('990107c6ffffffffc0c0c0c0c0c0')],
  ['a million nested lists', Buffer.alloc(1_000_000, 0x91)],
  ['a million nested maps', Buffer.alloc(1_000_000, 0x81)],
  ['nested long lists', Buffer.alloc(1_000_000, hex('dd000000ff'))],
  ['a million values', many(0xdd, 1_000_000, hex('00'))],
  ['a million empty maps', many(0xdd, 1_000_000, hex('80'))],
  ['a million empty lists', many(0xdd, 1_000_000, hex('90'))],
  ['half a million pairs', many(0xdf, Math.floor(most / 2), hex('a0c0'))],
  ['the maximum number of empty maps', many(0xdd, 99_999, hex('80'))],
  [
    'a request with the maximum number of empty maps',
    Buffer.concat([hex('930107'), many(0xdd, 99_990, hex('80'))]),
  ],
  [
    'a lease request with the maximum number of queues',
    Buffer.concat([hex('940207'), many(0xdd, 99_990, hex('a161')), hex('00')]),
  ],
  ['a text of a mebibyte instead of a number', textOfMebibyte()],
  ['a definition of a record', hex('92d47240 92a161a162 01 02')],
  ['a definition of a record of many fields', recordOfManyFields()],
  ['a set', hex('91d47300 93010203')],
  ['an expression', hex('91d47800 92a52861 2b292b a0')],
  ['an error', hex('91d46500 92a5457272 6f72 a178')],
  ['a date', hex('91d6ff00000000')],
  ['bundled texts', hex('91d46200 ce00000010')],
  ['a reference to itself', hex('91d66900000001 91d67000000001')],
  ['a buffer of doubles', hex('c7097408 0000000000000000')],
  ['a big integer', hex('91c7044201020304')],
  ['the unused byte 0xc1', hex('91c1')],
  ['an empty body', hex('')],
]

function textOfMebibyte(): Buffer {
  const length = most - 16
  return Buffer.concat([hex('92'), sized(0xdb, length), Buffer.alloc(length, 'a'), hex('01')])
}

function recordOfManyFields(): Buffer {
  const names = Buffer.alloc(2 * 60_000, hex('a161'))
  return Buffer.concat([hex('92d47240dc'), hex('ea60'), names])
}

export const bombs: readonly Bomb[] = [
  ...bodies.map(([name, body]) => ({ name, bytes: frameOf(body) })),
  { name: 'a frame of four gigabytes', bytes: hex('ffffffff') },
  {
    name: 'a frame of a mebibyte, of which a hundred bytes arrive',
    bytes: unfinished(),
    isUnfinished: true,
  },
  { name: 'HTTP', bytes: Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n') },
]

function unfinished(): Buffer {
  const bytes = Buffer.alloc(104, 0x90)
  bytes.writeUInt32BE(mebibyte)
  return bytes
}
