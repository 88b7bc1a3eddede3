import { readFileSync } from 'node:fs'
import {
  decodeAnswer,
  decodeHello,
  decodeRequest,
  decodeWelcome,
  encodeAnswer,
  encodeHello,
  encodeRequest,
  encodeWelcome,
  messageLimits,
  type Refusal,
  reasons,
  ServerConnection,
} from '@tenure/protocol'
import t from 'tap'
import { fromHex, plain, unframe } from './bytes.js'
import { sessionText } from './session.js'

// ---- vectors

/** Test vectors are permanent: every implementation of version 1 reads what version 1 wrote. */
interface Vector {
  readonly name: string
  /** `payload`, `result` and the `bytes` of a record are written in hexadecimal. */
  readonly message: { readonly [field: string]: unknown }
  /** The whole frame in hexadecimal. */
  readonly frame: string
}

interface InvalidVector {
  readonly name: string
  /** Before or after the welcome. */
  readonly when: 'greeting' | 'open'
  readonly frame: string
  readonly reaction: {
    readonly connection: 'closes' | 'stays open'
    readonly code?: string
    readonly answer?: { readonly reason: string }
  }
}

function read<T>(name: string): readonly T[] {
  return JSON.parse(readFileSync(new URL(`../../test/vectors/${name}`, import.meta.url), 'utf8'))
}

/** Converts the hexadecimal fields of a message to bytes. */
function unfold(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unfold)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, own]) => {
    const isBytes = ['payload', 'result', 'bytes'].includes(key) && typeof own === 'string'
    return [key, isBytes ? fromHex(own) : unfold(own)]
  })
  return Object.fromEntries(entries)
}

function checkGroup(
  file: string,
  encode: (message: never) => Buffer,
  decode: (body: Uint8Array) => unknown,
): void {
  for (const { name, message, frame } of read<Vector>(file)) {
    t.test(`${file}: ${name}`, (t) => {
      const unfolded = unfold(message)
      t.equal(encode(unfolded as never).toString('hex'), frame)
      t.equal(fromHex(frame).readUInt32BE(0), frame.length / 2 - 4)
      t.strictSame(plain(decode(unframe(fromHex(frame)))), plain(unfolded))
      t.end()
    })
  }
}

checkGroup('requests.json', encodeRequest, decodeRequest)
checkGroup('answers.json', encodeAnswer, decodeAnswer)

const handshake = {
  hello: {
    encode: encodeHello,
    decode: decodeHello,
  },
  welcome: {
    encode: encodeWelcome,
    decode: decodeWelcome,
  },
  refused: {
    encode: ({ reason, message, active }: Refusal) =>
      ServerConnection.farewell(reason, message, active),
    decode: decodeWelcome,
  },
}

for (const { name, message, frame } of read<Vector>('handshake.json')) {
  t.test(`handshake.json: ${name}`, (t) => {
    const { kind, ...fields } = message
    const { encode, decode } = handshake[kind as keyof typeof handshake]
    t.equal(encode(fields as never).toString('hex'), frame)
    t.strictSame(decode(unframe(fromHex(frame))), fields)
    t.end()
  })
}

t.test('other-forms.json: other spellings decode to the same request', (t) => {
  for (const { name, message, frame } of read<Vector>('other-forms.json')) {
    t.strictSame(plain(decodeRequest(unframe(fromHex(frame)))), plain(unfold(message)), name)
  }
  t.end()
})

t.test('every request, answer and part of the handshake has a vector', (t) => {
  const kinds = (file: string) => new Set(read<Vector>(file).map(({ message }) => message.kind))
  t.equal(kinds('requests.json').size, 15)
  t.equal(kinds('answers.json').size, 17)
  t.equal(kinds('handshake.json').size, 3)
  t.end()
})

function connection(when: 'greeting' | 'open'): ServerConnection {
  const limits = { frameBytesMax: 2 ** 20, requestsInFlightMax: 9, handshakeMs: 1, frameMs: 1 }
  const made = new ServerConnection(limits, 0)
  if (when === 'greeting') return made
  const [welcome] = read<Vector>('handshake.json').filter(({ name }) => name === 'welcome')
  made.welcome(welcome?.message as never)
  return made
}

for (const { name, when, frame, reaction } of read<InvalidVector>('invalid.json')) {
  t.test(`invalid.json: ${name}`, (t) => {
    const peer = connection(when)
    peer.push(fromHex(frame), 0)
    const { code, answer } = reaction
    if (code !== undefined) t.throws(() => peer.next(0), { name: 'ProtocolError', code })
    else if (answer?.reason === 'UNSUPPORTED_VERSION') {
      t.match(peer.next(0), { kind: 'hello', hello: { otherVersion: Number } })
    } else {
      t.equal(reaction.connection, 'stays open')
      t.equal(answer?.reason, 'MALFORMED')
      t.match(peer.next(0), { kind: 'request', request: { kind: 'malformed', id: 1 } })
    }
    t.end()
  })
}

const protocolText = readFileSync(new URL('../../../../docs/protocol.md', import.meta.url), 'utf8')

t.test('docs/protocol.md shows the exact bytes of the session', (t) => {
  const shown = protocolText.match(/<!-- session -->\n```text\n(.*?)```/s)?.[1]
  t.equal(shown, sessionText)
  t.end()
})

t.test('docs/protocol.md lists every reason with its meaning', (t) => {
  for (const [word, meaning] of Object.entries(reasons)) {
    t.ok(protocolText.includes(`| \`${word}\` | ${meaning} |`), `${word}: ${meaning}`)
  }
  t.end()
})

t.test('docs/protocol.md lists every message limit', (t) => {
  for (const [name, most] of Object.entries(messageLimits)) {
    const power = Math.log2(most)
    const written = most > 2 ** 31 ? `2^${power}` : String(most)
    const row = protocolText.split('\n').find((line) => line.includes(`<!-- ${name} -->`))
    t.ok(row?.includes(`| ${written} `), `${name} is ${written}`)
  }
  t.end()
})
