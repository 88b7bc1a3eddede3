import type { Random } from '@tenure/testing'
import { Packr } from 'msgpackr'
import { text, whole } from './scalars.js'

/** msgpackr with the options of the protocol. */
export const packr = new Packr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

/** MessagePack in every existing form, including forms that no encoder should use. */
export function anyValue(random: Random, depth = 0): Uint8Array {
  const isInner = random.chance(depth === 0 ? 0.8 : 0.35 - 0.03 * depth)
  if (isInner) return random.chance(0.6) ? list(random, depth) : map(random, depth)
  return random.chance(0.9) ? scalar(random) : random.pick(dirt)(random)
}

/** Looks like a message: a list that begins with a type and an id. */
export function anyMessage(random: Random): Uint8Array {
  const type = random.chance(0.5) ? random.integer(17) : 63 + random.integer(20)
  const count = random.integer(9)
  const values = Array.from({ length: count }, () => anyValue(random, 1))
  return Buffer.concat([Buffer.of(0x92 + count, type, 1 + random.integer(9)), ...values])
}

/** Large enough to need each width of a container's length. */
export function wideValue(random: Random): Uint8Array {
  const count = random.pick([15, 16, 255, 256, 65_535, 65_536, 99_999, 100_000])
  if (random.chance(0.7)) return Buffer.concat([sized(0xdd, 4, count), Buffer.alloc(count)])
  return Buffer.concat([
    sized(0xdf, 4, count >> 1),
    ...Array.from({ length: count >> 1 }, (_, index) => mapEntry(index)),
  ])
}

function mapEntry(index: number): Buffer {
  const key = index.toString(36)
  return Buffer.concat([Buffer.of(0xa0 + key.length), Buffer.from(key), Buffer.of(0xc0)])
}

function scalar(random: Random): Uint8Array {
  return random.pick(scalars)(random)
}

const numberForms = [
  ...[[0xca, 4] as const, [0xcb, 8] as const, [0xcc, 1] as const, [0xcd, 2] as const],
  ...[[0xce, 4] as const, [0xcf, 8] as const, [0xd0, 1] as const, [0xd1, 2] as const],
  ...[[0xd2, 4] as const, [0xd3, 8] as const],
]

const scalars: readonly ((random: Random) => Uint8Array)[] = [
  (random) => Buffer.of(random.pick([0xc0, 0xc2, 0xc3, 0xe0, 0xff])),
  (random) => Buffer.of(random.integer(128)),
  (random) => {
    const [head, width] = random.pick(numberForms)
    return Buffer.concat([Buffer.of(head), random.bytes(width)])
  },
  (random) => {
    const double = Buffer.alloc(9, 0xcb)
    double.writeDoubleBE(
      random.pick([-0, 1, 2 ** 32, 2 ** 53, NaN, whole(random, 0, 2 ** 53 - 1)]),
      1,
    )
    return double
  },
  textValue,
  textValue,
  (random) => {
    const content = random.bytes(random.pick([0, 1, 31, 255, 256]))
    return Buffer.concat([head(random, binForms, content.length), content])
  },
]

/** First bytes by width; one of width 0 contains lengths up to its first number. */
type Forms = readonly (readonly [lengthMax: number, head: number, width: number])[]

const textForms: Forms = [
  ...[[31, 0xa0, 0] as const, [0xff, 0xd9, 1] as const, [0xffff, 0xda, 2] as const],
  [0xffff_ffff, 0xdb, 4],
]
const binForms: Forms = [
  ...[[0xff, 0xc4, 1] as const, [0xffff, 0xc5, 2] as const, [0xffff_ffff, 0xc6, 4] as const],
]
const listForms: Forms = [
  [15, 0x90, 0],
  [0xffff, 0xdc, 2],
  [0xffff_ffff, 0xdd, 4],
]
const mapForms: Forms = [
  [15, 0x80, 0],
  [0xffff, 0xde, 2],
  [0xffff_ffff, 0xdf, 4],
]

function textValue(random: Random): Uint8Array {
  const content = Buffer.from(text(random, 0, 300))
  return Buffer.concat([head(random, textForms, content.length), content])
}

function head(random: Random, forms: Forms, length: number): Buffer {
  const [, first, width] = random.pick(forms.filter(([lengthMax]) => length <= lengthMax))
  return width === 0 ? Buffer.of(first + length) : sized(first, width, length)
}

function sized(first: number, width: number, length: number): Buffer {
  const bytes = Buffer.alloc(1 + width, first)
  bytes.writeUIntBE(length, 1, width)
  return bytes
}

function list(random: Random, depth: number): Uint8Array {
  const values = Array.from({ length: random.integer(6) }, () => anyValue(random, depth + 1))
  return Buffer.concat([head(random, listForms, values.length), ...values])
}

function map(random: Random, depth: number): Uint8Array {
  const count = random.integer(5)
  const pairs = Array.from({ length: count }, () => [key(random), anyValue(random, depth + 1)])
  return Buffer.concat([head(random, mapForms, count), ...pairs.flat()])
}

/** A decoded value with each part in its longest encoding. */
export function spelledLongest(value: unknown): Uint8Array {
  if (value === null) return Buffer.of(0xc0)
  if (typeof value === 'boolean') return Buffer.of(value ? 0xc3 : 0xc2)
  if (typeof value === 'number') {
    const double = Buffer.alloc(9, 0xcb)
    double.writeDoubleBE(value, 1)
    return double
  }
  if (typeof value === 'string') {
    const content = Buffer.from(value)
    return Buffer.concat([sized(0xdb, 4, content.length), content])
  }
  if (value instanceof Uint8Array) return Buffer.concat([sized(0xc6, 4, value.length), value])
  if (Array.isArray(value)) {
    return Buffer.concat([sized(0xdd, 4, value.length), ...value.map(spelledLongest)])
  }
  const entries = Object.entries(value as object)
  return Buffer.concat([sized(0xdf, 4, entries.length), ...entries.flat().map(spelledLongest)])
}

/** A map of these entries, and of others that may repeat their keys. */
export function mapWith(random: Random, known: { readonly [key: string]: unknown }): Uint8Array {
  const entries = Object.entries(known).map((pair) => Buffer.concat(pair.map(spelledLongest)))
  for (let left = random.integer(4); left > 0; left--) {
    const value = random.chance(0.8) ? scalar(random) : anyValue(random, 1)
    entries.push(Buffer.concat([key(random), value]))
  }
  return Buffer.concat([head(random, mapForms, entries.length), ...entries])
}

const keys = [
  ...['__proto__', 'constructor', 'a', 'a', 'length', '\ufeff', '0', 'taskId'],
  ...['active', 'log', 'shard', 'shards', 'endpoints'],
]

function key(random: Random): Uint8Array {
  const name = Buffer.from(random.pick(keys))
  return Buffer.concat([head(random, textForms, name.length), name])
}

/** Types that msgpackr would act upon: records, sets, expressions, errors, dates, references. */
const extensionTypes = [0x72, 0x73, 0x78, 0x65, 0xff, 0x69, 0x70, 0x74, 0x62, 0x42, 0x00, 0x01]
const notUtf8 = ['c3', 'c0af', 'eda080', 'f4908080', '80', 'ff', '61e28261']

const dirt: readonly ((random: Random) => Uint8Array)[] = [
  (random) => {
    const [head, size] = random.pick([[0xd4, 1] as const, [0xd5, 2] as const, [0xd6, 4] as const])
    return Buffer.concat([Buffer.of(head, random.pick(extensionTypes)), random.bytes(size)])
  },
  (random) => {
    const size = random.integer(12)
    return Buffer.concat([Buffer.of(0xc7, size, random.pick(extensionTypes)), random.bytes(size)])
  },
  () => Buffer.of(0xc1),
  (random) => {
    const content = Buffer.from(random.pick(notUtf8), 'hex')
    return Buffer.concat([head(random, textForms, content.length), content])
  },
  (random) => sized(random.pick([0xc6, 0xdb, 0xdd, 0xdf]), 4, whole(random, 2 ** 20, 2 ** 32 - 1)),
  (random) => Buffer.concat([Buffer.of(0x81), scalar(random), scalar(random)]),
  (random) => Buffer.alloc(1 + random.integer(20), random.pick([0x91, 0x81])),
]
