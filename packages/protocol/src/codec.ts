import { Packr, RESERVE_START_SPACE, Unpackr } from 'msgpackr'
import { ProtocolError } from './errors.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'
import { messageLimits } from './limits.js'

/** Without the second option an undefined fact would be an extension, which no reader of ours accepts. */
const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true })
/** Other languages write whole numbers of 2^32 and more as 64-bit integers; we read them as numbers. */
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' })

/** A message as a whole frame, length included. */
export function packFrame(values: readonly unknown[]): Buffer {
  if (!areWellFormed(values)) throw new TypeError('a text with half a surrogate pair has no UTF-8')
  const frame = packr.pack(values, RESERVE_START_SPACE + frameHeadBytes)
  frame.writeUInt32BE(frame.length - frameHeadBytes, 0)
  return frame
}

/** The values of a message, which is a list that begins with a number. */
export function unpackBody(body: Uint8Array): readonly unknown[] {
  checkStructure(body, messageLimits)
  const values: unknown = unpackr.unpack(body)
  if (!Array.isArray(values) || typeof values[0] !== 'number') {
    throw new ProtocolError(
      'PROTOCOL_BAD_MESSAGE',
      'a message that is no list beginning with its type',
    )
  }
  return values
}

/** msgpackr would write bytes that are no UTF-8, for which the peer ends the connection. */
function areWellFormed(values: readonly unknown[]): boolean {
  return values.every((value) => {
    if (typeof value === 'string') return value.isWellFormed()
    return !Array.isArray(value) || areWellFormed(value)
  })
}
