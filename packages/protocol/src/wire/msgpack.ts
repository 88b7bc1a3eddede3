import { Packr, RESET_BUFFER_MODE } from 'msgpackr'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { requireWhole } from './fields.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'

/**
 * What is rare goes through msgpackr, both ways: handshakes, administration, and questions, whose answers
 * are maps that may get more keys. It is set to plain MessagePack, which any other library reads and
 * writes; what it would make beyond that never reaches it. `checkStructure` stands before the reading,
 * `requirePlain` before the writing.
 */
const packr = new Packr({
  // Neither records nor structures: a map is a map, and no message depends on an earlier one.
  useRecords: false,
  mapsAsObjects: true,
  // Other languages write whole numbers of 2^32 and more as 64-bit integers; they are numbers here.
  int64AsType: 'number',
  // The memory a message came in is used again, so bytes are copied wherever they stand.
  copyBuffers: true,
  // Undefined would be an extension.
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

/** The message as a whole frame. A strict one has no number that is not whole. */
export function packFrame(values: readonly unknown[], isStrict: boolean): Buffer {
  requirePlain(values, isStrict)
  const body = packr.pack(values, RESET_BUFFER_MODE)
  const frame = Buffer.allocUnsafe(frameHeadBytes + body.length)
  frame.writeUInt32BE(body.length, 0)
  frame.set(body, frameHeadBytes)
  return frame
}

/** msgpackr would write much more: dates, sets, errors and big integers, and half a surrogate pair as it is. */
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
