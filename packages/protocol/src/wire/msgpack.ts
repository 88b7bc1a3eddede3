import { Packr, RESET_BUFFER_MODE } from 'msgpackr'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { type Facts, requireWhole } from './fields.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'

/**
 * msgpackr reads and writes the rare messages: handshakes, administration, and queries whose answers are
 * maps. It is configured for plain MessagePack, which every other library understands. `checkStructure`
 * filters what it reads, `requirePlain` what it writes.
 */
const packr = new Packr({
  // Without records and structures a map is a map, and no message depends on an earlier one.
  useRecords: false,
  mapsAsObjects: true,
  // Other languages write integers of 2^32 and more with 64 bits.
  int64AsType: 'number',
  // Copies bytes, also inside maps: the memory of a message is reused.
  copyBuffers: true,
  // By default `undefined` is written as an extension.
  encodeUndefinedAsNil: true,
  useToJSON: false,
})

/** The values of a message: a list that begins with the message type. */
export function unpackMessage(body: Uint8Array): readonly unknown[] {
  checkStructure(body, messageLimits)
  const values: unknown = packr.unpack(body)
  if (!Array.isArray(values) || typeof values[0] !== 'number') {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      'malformed message: it must be a list whose first value is the number of a message type',
    )
  }
  return values
}

/** Reads a map that `checkStructure` has checked. */
export function unpackMap(bytes: Uint8Array): Facts {
  return packr.unpack(bytes)
}

/** Encodes a map inside a message. The next call of this module may overwrite the returned bytes. */
export function packMap(map: Facts, isStrict: boolean): Uint8Array {
  requirePlain(map, isStrict)
  return packr.pack(map, RESET_BUFFER_MODE)
}

/** Encodes the message as a whole frame. With `isStrict`, a fraction throws a TypeError. */
export function packFrame(values: readonly unknown[], isStrict: boolean): Buffer {
  requirePlain(values, isStrict)
  const body = packr.pack(values, RESET_BUFFER_MODE)
  const frame = Buffer.allocUnsafe(frameHeadBytes + body.length)
  frame.writeUInt32BE(body.length, 0)
  frame.set(body, frameHeadBytes)
  return frame
}

/**
 * Rejects values that msgpackr would write as an extension or as invalid UTF-8, such as dates, sets and lone
 * surrogates.
 */
function requirePlain(value: unknown, isStrict: boolean): void {
  switch (typeof value) {
    case 'string':
      if (value.isWellFormed()) return
      throw new TypeError('a string contains a lone surrogate; use well-formed Unicode')
    case 'number':
      if (isStrict) requireWhole(value)
      return
    case 'boolean':
    case 'undefined':
      return
    case 'object':
      requirePlainObject(value, isStrict)
      return
    default:
      throw notAllowed(typeof value)
  }
}

function requirePlainObject(value: object | null, isStrict: boolean): void {
  if (value === null || value instanceof Uint8Array) return
  if (Array.isArray(value)) {
    for (const own of value) requirePlain(own, isStrict)
    return
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw notAllowed(value.constructor.name)
  }
  for (const [key, own] of Object.entries(value)) {
    requirePlain(key, isStrict)
    requirePlain(own, isStrict)
  }
}

function notAllowed(type: string): TypeError {
  const allowed = 'null, booleans, numbers, strings, bytes, lists and plain objects'
  return new TypeError(`a message contains a ${type}; it may contain only ${allowed}`)
}
