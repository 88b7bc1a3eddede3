import { ValueWriter } from '@tenure/values'
import { Unpackr } from 'msgpackr'
import { ProtocolError } from './errors.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'
import { messageLimits } from './limits.js'

const writer = new ValueWriter()
/**
 * Other languages write whole numbers of 2^32 and more as 64-bit integers; we read them as numbers. Bytes
 * are copied wherever they stand, in a map of facts, too: the memory they came in is used again.
 */
const unpackr = new Unpackr({
  ...{ useRecords: false, mapsAsObjects: true, int64AsType: 'number' },
  copyBuffers: true,
})

/** A message as a whole frame, length included. */
export function packFrame(values: readonly unknown[]): Buffer {
  writer.begin(frameHeadBytes)
  writer.value(values)
  return withLength(writer.end())
}

/** Begins a request or an answer: what it is, and whose. Its other values are to be written, as many as are said. */
export function beginMessage(number: number, length: number, id: number): ValueWriter {
  writer.begin(frameHeadBytes)
  writer.list(length)
  writer.number(number)
  writer.number(id)
  return writer
}

/** The message as a whole frame. */
export function endMessage(): Buffer {
  return withLength(writer.end())
}

function withLength(frame: Buffer): Buffer {
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
