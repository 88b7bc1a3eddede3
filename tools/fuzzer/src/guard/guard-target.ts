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
import { anyMessage, anyValue, packr, spelledLongest, wideValue } from '../corpus/message-pack.js'
import {
  anyAnswer,
  anyFarewell,
  anyHello,
  anyRequest,
  anyWelcome,
  unframe,
  withOtherExtras,
} from '../corpus/messages.js'
import { isSame } from '../input/input.js'
import { mutateOneOf } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { codeOf, withinMemory } from '../input/violation.js'
import { isSoundStructure } from './naive-structure.js'

/** The code between a stranger's bytes and the rest of the program. */
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

interface Codec {
  readonly name: string
  readonly decode: (body: Uint8Array) => object
  /** `undefined` for messages that only the decoder produces. */
  readonly encode: (message: never) => Uint8Array | undefined
}

/**
 * Tries one body at a time on the guard, on the general decoder after it, and on the typed decoders
 * that run without it.
 */
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
  (random) => unframe(withOtherExtras(random, encodeWelcome(anyWelcome(random)))),
  (random) => unframe(anyFarewell(random)),
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

/** Decoders accept any number in unknown facts, but encoders write only whole ones. */
function isWholeThroughout(value: unknown): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true
  return Object.values(value).every(isWholeThroughout)
}

function tryBody(parts: GuardParts, codecs: readonly Codec[], body: Uint8Array): string {
  const word = guardCode(parts, body)
  const isSound = isSoundStructure(body, messageLimits)
  holds(
    (word === 'passes') === isSound,
    'the guard accepts exactly the valid structures',
    () => `the guard: ${word}; the body is ${isSound ? 'valid' : 'invalid'}`,
  )
  const longest = word === 'passes' && isSound ? tryValue(body) : undefined
  const words = codecs.map((codec) => {
    const told = tryCodec(codec, body, longest)
    holds(
      word === 'passes' || told !== 'taken',
      'decoders reject what the guard rejects',
      () => `${codec.name} accepts it; the guard: ${word}`,
    )
    return told
  })
  return [word, ...words].join(' ')
}

function guardCode({ checkStructure }: GuardParts, body: Uint8Array): string {
  try {
    withinMemory('the guard', () => checkStructure(body, messageLimits))
    return 'passes'
  } catch (error) {
    const code = codeOf(error, isProtocolError)
    holds(code === 'PROTOCOL_BAD_STRUCTURE', 'the guard rejects with its own code', () => code)
    return shape((error as Error).message)
  }
}

/** An accepted value is the same after encoding and decoding. Returns its longest encoding. */
function tryValue(body: Uint8Array): Uint8Array {
  const value: unknown = withinMemory('the decoder', () => packr.unpack(body))
  const again: unknown = packr.unpack(packr.pack(value))
  holds(
    isSame(value, again),
    'an accepted value survives a round trip',
    () => 'it decodes to another value',
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
      'a message decodes the same in every encoding',
      () => `${name}: ${word} and, spelled longest, ${other}`,
    )
  }
  const frame = message === undefined ? undefined : encode(message as never)
  if (frame !== undefined) {
    const [again, other] = attempt(name, decode, unframe(frame))
    holds(
      again === 'taken' && isSame(message, other),
      'a decoded message survives a round trip',
      () => `${name}: after a round trip it is ${again}`,
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

/** Removes the parts of a message that change each time. */
function shape(message: string): string {
  return message.replaceAll(/-?\d+(\.\d+)?(e\+?\d+)?/g, '#')
}
