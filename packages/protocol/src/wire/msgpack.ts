import { Packr, RESET_BUFFER_MODE } from 'msgpackr'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { requireWhole } from './fields.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'

/**
 * msgpackr reads and writes the rare messages: handshakes, administration, and queries whose answers are
 * maps. It is set to plain MessagePack, which any other library understands. `checkStructure` keeps from it
 * what it should not read, `requirePlain` what it would write as an extension.
 */
const packr = new Packr({
  // No records and no structures: a map is a map, and no message depends on an earlier one.
  useRecords: false,
  mapsAsObjects: true,
  // Other languages write whole numbers of 2^32 and more as 64-bit integers.
  int64AsType: 'number',
  // The memory of a message is reused, so bytes are copied, also inside maps.
  copyBuffers: true,
  // By default `undefined` becomes an extension.
  encodeUndefinedAsNil: true,
  useToJSON: false,
})

/** The values of a message, which is a list that begins with a number. */
export function unpackMessage(body: Uint8Array): readonly unknown[] {
  checkStructure(body, messageLimits)
  const values: unknown = packr.unpack(body)
  if (!Array.isArray(values) || typeof values[0] !== 'number') {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      'a message that is no list beginning with its type',
    )
  }
  return values
}

/** The message as a whole frame. With `isStrict` a number that is not whole is a TypeError. */
export function packFrame(values: readonly unknown[], isStrict: boolean): Buffer {
  requirePlain(values, isStrict)
  const body = packr.pack(values, RESET_BUFFER_MODE)
  const frame = Buffer.allocUnsafe(frameHeadBytes + body.length)
  frame.writeUInt32BE(body.length, 0)
  frame.set(body, frameHeadBytes)
  return frame
}

/** Refuses what msgpackr would write as an extension or as invalid UTF-8: dates, sets, half a surrogate pair. */
function requirePlain(value: unknown, isStrict: boolean): void {
  switch (typeof value) {
    case 'string':
      if (value.isWellFormed()) return
      throw new TypeError('a text with half a surrogate pair has no UTF-8')
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
      throw new TypeError(`a ${typeof value} is no value of a message`)
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
    throw new TypeError(`a ${value.constructor.name} is no value of a message`)
  }
  for (const [key, own] of Object.entries(value)) {
    requirePlain(key, isStrict)
    requirePlain(own, isStrict)
  }
}
