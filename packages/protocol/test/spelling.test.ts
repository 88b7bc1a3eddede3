import { deepStrictEqual } from 'node:assert'
import {
  decodeAnswer,
  decodeHello,
  decodeRequest,
  decodeWelcome,
  encodeAnswer,
  encodeHello,
  encodeRequest,
  encodeWelcome,
} from '@tenure/protocol'
import fc, { type Arbitrary } from 'fast-check'
import { unpack } from 'msgpackr'
import t from 'tap'
import { answerLayouts } from '../src/messages/answer-layouts.js'
import type { Layout, Message } from '../src/messages/layout.js'
import { MessageCodec } from '../src/messages/message-codec.js'
import { requestLayouts } from '../src/messages/request-layouts.js'
import { answersByKind, hellos, requestsByKind, welcomes } from './arbitraries.js'
import { bodyOf, plain, unframe } from './bytes.js'

// Other programs may write the same message in other bytes: each value in any MessagePack form.

const numRuns = Number(process.env.TENURE_PROPERTY_RUNS ?? 200)

/**
 * A form: the largest value or length it holds, its first byte, and the number of bytes for the value or
 * length.
 */
type Form = readonly [most: number, head: number, width: 0 | 1 | 2 | 4 | 8]

const wholeForms: readonly Form[] = [
  [0x7f, 0x00, 0],
  [0xff, 0xcc, 1],
  [0xffff, 0xcd, 2],
  [0xffff_ffff, 0xce, 4],
  [2 ** 53, 0xcf, 8],
  [0x7f, 0xd0, 1],
  [0x7fff, 0xd1, 2],
  [0x7fff_ffff, 0xd2, 4],
  [2 ** 53, 0xd3, 8],
]
const textForms: readonly Form[] = [
  [31, 0xa0, 0],
  [0xff, 0xd9, 1],
  [0xffff, 0xda, 2],
  [0xffff_ffff, 0xdb, 4],
]
const bytesForms: readonly Form[] = [
  [0xff, 0xc4, 1],
  [0xffff, 0xc5, 2],
  [0xffff_ffff, 0xc6, 4],
]
const listForms: readonly Form[] = [
  [15, 0x90, 0],
  [0xffff, 0xdc, 2],
  [0xffff_ffff, 0xdd, 4],
]
const mapForms: readonly Form[] = [
  [15, 0x80, 0],
  [0xffff, 0xde, 2],
  [0xffff_ffff, 0xdf, 4],
]

/** Returns a number below `count`. */
type Choose = (count: number) => number

/** Encodes a value; `choose` picks the form of each part. */
function spell(value: unknown, choose: Choose): Buffer {
  if (value === null) return Buffer.of(0xc0)
  if (typeof value === 'boolean') return Buffer.of(value ? 0xc3 : 0xc2)
  if (typeof value === 'number') return spellNumber(value, choose)
  if (typeof value === 'string') {
    const text = Buffer.from(value)
    return Buffer.concat([head(textForms, text.length, choose), text])
  }
  if (value instanceof Uint8Array) {
    return Buffer.concat([head(bytesForms, value.length, choose), value])
  }
  if (Array.isArray(value)) {
    const parts = value.map((own) => spell(own, choose))
    return Buffer.concat([head(listForms, parts.length, choose), ...parts])
  }
  const parts = Object.entries(value as object).flat()
  const first = head(mapForms, parts.length / 2, choose)
  return Buffer.concat([first, ...parts.map((own) => spell(own, choose))])
}

function spellNumber(value: number, choose: Choose): Buffer {
  const isWhole = Number.isInteger(value) && value >= 0 && value <= 2 ** 53
  const form = choose(isWhole ? 4 : 1)
  if (form > 0) return head(wholeForms, value, choose)
  const isSingle = Math.fround(value) === value && choose(2) === 0
  const bytes = Buffer.alloc(isSingle ? 5 : 9, isSingle ? 0xca : 0xcb)
  if (isSingle) bytes.writeFloatBE(value, 1)
  else bytes.writeDoubleBE(value, 1)
  return bytes
}

function head(forms: readonly Form[], value: number, choose: Choose): Buffer {
  const fitting = forms.filter(([most]) => value <= most)
  const [, first, width] = fitting[choose(fitting.length)]!
  if (width === 0) return Buffer.of(first + value)
  const bytes = Buffer.alloc(1 + width, first)
  if (width === 8) bytes.writeBigUInt64BE(BigInt(value), 1)
  else bytes.writeUIntBE(value, 1, width)
  return bytes
}

/** Reads choices from a list of numbers, over and over. */
function chooseBy(numbers: readonly number[]): Choose {
  let at = 0
  return (count) => numbers[at++ % numbers.length]! % count
}

const choices = fc.array(fc.nat(1000), { minLength: 1, maxLength: 40 }).map(chooseBy)

function valuesOf(frame: Buffer): readonly unknown[] {
  return unpack(unframe(frame)) as readonly unknown[]
}

const kinds: readonly [
  kind: string,
  messages: Arbitrary<unknown>,
  encode: (message: never) => Buffer,
  decode: (body: Uint8Array) => unknown,
][] = [
  ...Object.entries(requestsByKind).map(
    ([kind, messages]) => [kind, messages, encodeRequest, decodeRequest] as const,
  ),
  ...Object.entries(answersByKind).map(
    ([kind, messages]) => [kind, messages, encodeAnswer, decodeAnswer] as const,
  ),
  ['hello', hellos, encodeHello, decodeHello],
  ['welcome', welcomes, encodeWelcome, decodeWelcome],
] as never

for (const [kind, messages, encode, decode] of kinds) {
  t.test(`${kind} decodes the same in every spelling`, (t) => {
    const property = fc.property(messages, choices, (message, choose) => {
      const body = spell(valuesOf(encode(message as never)), choose)
      deepStrictEqual(plain(decode(body)), plain(message))
    })
    fc.assert(property, { numRuns })
    t.end()
  })
}

/** The decoded message, or the error as a string. */
function outcome(decode: (body: Uint8Array) => unknown, body: Uint8Array): unknown {
  try {
    return plain(decode(body))
  } catch (error) {
    return String(error)
  }
}

const wrongValue = fc.constantFrom<unknown>(
  ...[null, true, 0, 2 ** 32, 2 ** 53, 0.5, Number.NaN, '', 'x'.repeat(5000), [], [1, 2, 3], {}],
  ...[-1, -100, -1000, -100_000, -(2 ** 40)],
  ...[{ a: 1 }, { valueOf: {}, toString: {} }, new Uint8Array(0), Buffer.from('bytes')],
)

for (const [kind, messages, encode, decode] of kinds) {
  t.test(
    `${kind} with an invalid field is rejected with the same message in every spelling`,
    (t) => {
      const places = fc.tuple(messages, wrongValue, fc.nat(), choices)
      const property = fc.property(places, ([message, wrong, place, choose]) => {
        const values = [...valuesOf(encode(message as never))]
        values[place % values.length] = wrong
        const told = outcome(decode, bodyOf(...values))
        deepStrictEqual(outcome(decode, spell(values, choose)), told)
      })
      fc.assert(property, { numRuns })
      t.end()
    },
  )
}

// ---- the typed reader, compared with msgpackr

/** Decodes every kind as if it were rare: with the guard, msgpackr and the same layouts. */
function rareCodec(layouts: object, noun: 'request' | 'answer') {
  const entries = Object.entries(layouts as { readonly [kind: string]: Layout<Message> })
  return new MessageCodec<Message>({
    noun,
    layouts: Object.fromEntries(
      entries.map(([kind, layout]) => [kind, { ...layout, isHot: false } as Layout<Message>]),
    ),
    idMin: noun === 'request' ? 1 : 0,
    copy: (body, start, end) => body.slice(start, end),
    isStrict: false,
  })
}

const rareRequests = rareCodec(requestLayouts, 'request')
const rareAnswers = rareCodec(answerLayouts, 'answer')

function readRequestByList(body: Uint8Array): unknown {
  return rareRequests.decode(body, (error, id) => {
    if (id === undefined) throw error
    return { kind: 'malformed', id, message: (error as Error).message }
  })
}

function readAnswerByList(body: Uint8Array): unknown {
  return rareAnswers.decode(body, (error) => {
    throw error
  })
}

/** Mutates a few bytes, truncates the body or appends a byte. */
const changes = fc.record({
  bytes: fc.array(fc.record({ at: fc.nat(), byte: fc.nat(255) }), { maxLength: 2 }),
  cut: fc.integer({ min: -2, max: 1 }),
})

function bend(body: Buffer, { bytes, cut }: typeof changes extends Arbitrary<infer C> ? C : never) {
  const bent = cut > 0 ? Buffer.concat([body, Buffer.of(1)]) : Buffer.from(body)
  // Mutations go to the beginning, where the structure is; a change inside a long payload has no effect.
  for (const { at, byte } of bytes) bent[at % Math.min(bent.length, 60)] = byte
  return cut < 0 ? bent.subarray(0, cut) : bent
}

const hotKinds = [...Object.entries(requestLayouts), ...Object.entries(answerLayouts)].flatMap(
  ([kind, { isHot }]) => (isHot ? [kind] : []),
)

for (const [kind, messages, encode, decode] of kinds.filter(([kind]) => hotKinds.includes(kind))) {
  t.test(`${kind} decodes the same with the typed reader and msgpackr, mutated or not`, (t) => {
    const byList = kind in requestLayouts ? readRequestByList : readAnswerByList
    const counts = { taken: 0, refused: 0 }
    const property = fc.property(messages, choices, changes, (message, choose, change) => {
      const body = bend(spell(valuesOf(encode(message as never)), choose), change)
      const told = outcome(decode, body)
      deepStrictEqual(told, outcome(byList, body))
      counts[typeof told === 'string' ? 'refused' : 'taken']++
    })
    fc.assert(property, { numRuns: 3 * numRuns })
    t.ok(counts.taken > numRuns / 4 && counts.refused > numRuns / 4, JSON.stringify(counts))
    t.end()
  })
}
