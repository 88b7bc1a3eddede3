import { holds } from '@tenure/harness'
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
  ProtocolError,
} from '@tenure/protocol'
import { checkStructure } from '@tenure/protocol/internal'
import { Packr } from 'msgpackr'
import { anyMessage, anyValue, spelledLongest, wideValue } from '../corpus/message-pack.js'
import { anyAnswer, anyHello, anyRequest, anyWelcome, unframe } from '../corpus/messages.js'
import { isSame } from '../input/input.js'
import { mutateOneOf } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { codeOf, withinMemory } from '../input/violation.js'
import { isSoundStructure } from './naive-structure.js'

/** What stands between a stranger's bytes and the rest. */
export interface GuardParts {
  readonly checkStructure: typeof checkStructure
  readonly decodeRequest: typeof decodeRequest
  readonly decodeAnswer: typeof decodeAnswer
  readonly decodeHello: typeof decodeHello
  readonly decodeWelcome: typeof decodeWelcome
}

const shipped: GuardParts = {
  checkStructure,
  decodeRequest,
  decodeAnswer,
  decodeHello,
  decodeWelcome,
}

/** The general codec, set as the protocol sets it. */
const packr = new Packr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

interface Codec {
  readonly name: string
  readonly decode: (body: Uint8Array) => object
  /** `undefined` for what only a decoder makes. */
  readonly encode: (message: never) => Uint8Array | undefined
}

/** The guard, and the decoders of what is rare behind it and of what is frequent beside it, on one body at a time. */
export function guardTarget(parts: Partial<GuardParts> = {}): Target {
  const used = { ...shipped, ...parts }
  const codecs = codecsOf(used)
  return {
    name: 'guard',
    generate: (random) => [{ kind: 'body', bytes: random.pick(bodies)(random) }],
    mutate: mutateOneOf,
    run: (input) => input.map(({ bytes }) => tryBody(used, codecs, bytes!)).join(', '),
  }
}

const bodies: readonly ((random: Parameters<typeof anyValue>[0]) => Uint8Array)[] = [
  (random) => unframe(encodeRequest(anyRequest(random))),
  (random) => unframe(encodeRequest(anyRequest(random))),
  (random) => unframe(encodeAnswer(anyAnswer(random))),
  (random) => unframe(encodeAnswer(anyAnswer(random))),
  (random) => unframe(encodeHello(anyHello(random, random.pick([undefined, 'token'])))),
  (random) => unframe(encodeWelcome(anyWelcome(random))),
  anyMessage,
  (random) => (random.chance(0.02) ? wideValue(random) : anyValue(random)),
]

function codecsOf(parts: GuardParts): readonly Codec[] {
  return [
    {
      name: 'decodeRequest',
      decode: parts.decodeRequest,
      encode: (message: ReturnType<typeof decodeRequest>) =>
        message.kind === 'malformed' ? undefined : encodeRequest(message),
    },
    {
      name: 'decodeAnswer',
      decode: parts.decodeAnswer,
      encode: (message: ReturnType<typeof decodeAnswer>) =>
        isWholeThroughout(message) ? encodeAnswer(message) : undefined,
    },
    {
      name: 'decodeHello',
      decode: parts.decodeHello,
      encode: (message: ReturnType<typeof decodeHello>) =>
        'otherVersion' in message ? undefined : encodeHello(message),
    },
    {
      name: 'decodeWelcome',
      decode: parts.decodeWelcome,
      encode: (message: ReturnType<typeof decodeWelcome>) =>
        'reason' in message ? undefined : encodeWelcome(message),
    },
  ]
}

/** Of facts that it does not know a decoder takes any number; an encoder writes whole ones only. */
function isWholeThroughout(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  return Object.values(value).every(isWholeThroughout)
}

function tryBody(parts: GuardParts, codecs: readonly Codec[], body: Uint8Array): string {
  const word = guardWord(parts, body)
  const isSound = isSoundStructure(body, messageLimits)
  holds(
    (word === 'passes') === isSound,
    'the guard lets through what is sound and nothing else',
    () => `the guard: ${word}; the body is ${isSound ? 'sound' : 'not'}`,
  )
  const longest = word === 'passes' && isSound ? tryValue(body) : undefined
  const words = codecs.map((codec) => {
    const told = tryCodec(codec, body, longest)
    holds(
      word === 'passes' || told !== 'taken',
      'what the guard refuses is refused',
      () => `${codec.name} takes it; the guard: ${word}`,
    )
    return told
  })
  return [word, ...words].join(' ')
}

function guardWord({ checkStructure }: GuardParts, body: Uint8Array): string {
  try {
    withinMemory('the guard', () => checkStructure(body, messageLimits))
    return 'passes'
  } catch (error) {
    const code = codeOf(error, isProtocolError)
    holds(code === 'PROTOCOL_BAD_STRUCTURE', 'the guard refuses with its own word', () => code)
    return shape((error as Error).message)
  }
}

/** What passes is the same value when it was written and read again. Returns it in its longest spelling. */
function tryValue(body: Uint8Array): Uint8Array {
  const value: unknown = withinMemory('the decoder', () => packr.unpack(body))
  const again: unknown = packr.unpack(packr.pack(value))
  holds(
    isSame(value, again),
    'what passes can be written again',
    () => 'it reads as something else',
  )
  return spelledLongest(value)
}

function tryCodec(
  { name, decode, encode }: Codec,
  body: Uint8Array,
  longest: Uint8Array | undefined,
): string {
  const [word, message] = attempt(name, decode, body)
  if (longest !== undefined) {
    const [other, sameMessage] = attempt(name, decode, longest)
    holds(
      word === other && isSame(message, sameMessage),
      'a message is the same in every spelling',
      () => `${name}: ${word} and, spelled longest, ${other}`,
    )
  }
  const frame = message === undefined ? undefined : encode(message as never)
  if (frame !== undefined) {
    const [again, other] = attempt(name, decode, unframe(frame))
    holds(
      again === 'taken' && isSame(message, other),
      'what is decoded can be sent',
      () => `${name}: written and read again it is ${again}`,
    )
  }
  return word
}

function attempt(
  name: string,
  decode: (body: Uint8Array) => object,
  body: Uint8Array,
): [word: string, message: object | undefined] {
  try {
    return ['taken', withinMemory(name, () => decode(body))]
  } catch (error) {
    codeOf(error, isProtocolError)
    return [shape((error as Error).message), undefined]
  }
}

function isProtocolError(error: Error): boolean {
  return error instanceof ProtocolError
}

/** The message without what is different each time. */
function shape(message: string): string {
  return message.replaceAll(/-?\d+(\.\d+)?(e\+?\d+)?/g, '#')
}
