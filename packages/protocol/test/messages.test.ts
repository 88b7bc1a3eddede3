import { deepStrictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
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
  messageLimits,
  type Request,
  reasons,
  ServerConnection,
} from '@tenure/protocol'
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { readAnswerQuickly } from '../src/messages/quick-answers.js'
import { readQuickly } from '../src/messages/quick-requests.js'
import { answersByKind, requestsByKind } from './arbitraries.js'
import { fromHex, plain, unframe } from './bytes.js'
import { sessionText } from './session.js'

// ---- vectors

/** Kept for ever: what version 1 wrote, every implementation of version 1 reads. */
interface Vector {
  readonly name: string
  /** `payload`, `result` and the `bytes` of a record are bytes, here as hexadecimal text. */
  readonly message: { readonly [field: string]: unknown }
  /** The whole frame, as hexadecimal text. */
  readonly frame: string
}

interface InvalidVector {
  readonly name: string
  /** Whether the coordinator has welcomed its sender. */
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

/** The message with bytes where the file has text. */
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
    encode: ({ reason, message }: { reason: 'UNAUTHORIZED'; message: string }) =>
      ServerConnection.farewell(reason, message),
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

t.test('other-forms.json: what others may write in another form is the same request', (t) => {
  for (const { name, message, frame } of read<Vector>('other-forms.json')) {
    t.strictSame(plain(decodeRequest(unframe(fromHex(frame)))), plain(unfold(message)), name)
  }
  t.end()
})

t.test('there is a vector for each request, each answer, and each part of the handshake', (t) => {
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

t.test('docs/protocol.md shows the session byte by byte as the code produces it', (t) => {
  const shown = protocolText.match(/<!-- session -->\n```text\n(.*?)```/s)?.[1]
  t.equal(shown, sessionText)
  t.end()
})

t.test('docs/protocol.md has every error word, with its meaning', (t) => {
  for (const [word, meaning] of Object.entries(reasons)) {
    t.ok(protocolText.includes(`| \`${word}\` | ${meaning} |`), `${word}: ${meaning}`)
  }
  t.end()
})

t.test('docs/protocol.md has every limit of a message', (t) => {
  for (const [name, most] of Object.entries(messageLimits)) {
    const power = Math.log2(most)
    const written = most > 2 ** 31 ? `2^${power}` : String(most)
    const row = protocolText.split('\n').find((line) => line.includes(`<!-- ${name} -->`))
    t.ok(row?.includes(`| ${written} `), `${name} is ${written}`)
  }
  t.end()
})

// ---- quick reading

const { submit, lease, heartbeat, complete, fail } = requestsByKind
const requests = fc.oneof(submit, lease, heartbeat, complete, fail) as Arbitrary<Request>
const { submitted, leased, empty, extended, committed } = answersByKind
const answers = fc.oneof(submitted, leased, empty, extended, committed) as Arbitrary<Answer>
const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 2000)

/** The same list in a longer spelling, which only the careful reader takes. */
function spelledLonger(body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(0xdc, 0, body[0]! & 0x0f), body.subarray(1)])
}

/** What it gives, or the words of its refusal. */
function outcome(decode: (body: Uint8Array) => unknown, body: Uint8Array): unknown {
  try {
    return plain(decode(body))
  } catch (error) {
    return String(error)
  }
}

/** Messages as they are, and with a few bytes changed, cut off or added. */
function bodies<T>(messages: Arbitrary<T>, encode: (message: T) => Buffer): Arbitrary<Buffer> {
  const change = fc.record({ at: fc.nat(), byte: fc.nat(255) })
  const changes = fc.array(change, { maxLength: 2 })
  return fc.tuple(messages, changes, fc.integer({ min: -2, max: 1 })).map(([message, own, cut]) => {
    const whole = unframe(encode(message))
    const body = cut > 0 ? Buffer.concat([whole, Buffer.of(1)]) : Buffer.from(whole)
    for (const { at, byte } of own) body[1 + (at % (body.length - 1))] = byte
    return cut < 0 ? body.subarray(0, cut) : body
  })
}

function agree<T>(
  messages: Arbitrary<T>,
  encode: (message: T) => Buffer,
  quick: (body: Uint8Array) => unknown,
  decode: (body: Uint8Array) => unknown,
): number {
  let taken = 0
  const property = fc.property(bodies(messages, encode), (body) => {
    const found = quick(body)
    if (found === undefined) return
    taken++
    deepStrictEqual(plain(found), outcome(decode, spelledLonger(body)))
  })
  fc.assert(property, { numRuns })
  return taken
}

t.test('a request that is read quickly means the same to whoever reads it carefully', (t) => {
  t.ok(agree(requests, encodeRequest, readQuickly, decodeRequest) > numRuns / 20)
  t.end()
})

t.test('an answer that is read quickly means the same to whoever reads it carefully', (t) => {
  t.ok(agree(answers, encodeAnswer, readAnswerQuickly, decodeAnswer) > numRuns / 20)
  t.end()
})

t.test('what comes all the time is read quickly', (t) => {
  for (const request of [
    { kind: 'submit', id: 1, payload: Buffer.from('x') },
    { kind: 'submit', id: 1, payload: Buffer.from('x'), queue: 'mail', requestId: 'a' },
    { kind: 'lease', id: 0xffff_ffff, queues: ['default'], waitMs: 30_000 },
    { kind: 'heartbeat', id: 7, taskId: 1, leaseId: 2 ** 40 },
    { kind: 'complete', id: 7, taskId: 1, leaseId: 2, reportId: 'r', result: Buffer.from('y') },
    { kind: 'fail', id: 7, taskId: 1, leaseId: 2, reason: 'no', reportId: 'r' },
  ] as const) {
    t.same(plain(readQuickly(unframe(encodeRequest(request)))), plain(request))
  }
  const terms = { leaseExpiry: 2 ** 41, windowEnd: 2 ** 41, heldMs: 0, leaseMs: 1, windowMs: 1 }
  const payload = Buffer.from('x')
  for (const answer of [
    { kind: 'submitted', id: 1, taskId: 2 ** 33, known: false },
    { kind: 'leased', id: 1, taskId: 1, leaseId: 2, attempt: 1, queue: 'q', payload, ...terms },
    { kind: 'empty', id: 1 },
    { kind: 'extended', id: 1, ...terms },
    { kind: 'committed', id: 1, state: 'COMPLETED' },
  ] as const) {
    t.same(plain(readAnswerQuickly(unframe(encodeAnswer(answer)))), plain(answer))
  }
  t.end()
})
