import { deepStrictEqual } from 'node:assert'
import {
  type Answer,
  decodeAnswer,
  decodeRequest,
  encodeAnswer,
  encodeRequest,
  type Request,
} from '@tenure/protocol'
import fc, { type Arbitrary } from 'fast-check'
import t from 'tap'
import { readAnswerQuickly } from '../src/messages/quick-answers.js'
import { readQuickly } from '../src/messages/quick-requests.js'
import { answersByKind, requestsByKind } from './arbitraries.js'
import { plain, unframe } from './bytes.js'

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
