import { ValueWriter } from '@tenure/values'
import { Unpackr } from 'msgpackr'
import { ProtocolError } from '../errors.js'
import { messageLimits } from '../limits.js'
import { frameHeadBytes } from './frame.js'
import { checkStructure } from './guard.js'

/**
 * No message has a number that is not whole, and a client may hang up when an answer has one. So an
 * answer fails here, where the stack still says what made it; a request is refused by the coordinator.
 */
class WholeWriter extends ValueWriter {
  override number(value: number): void {
    if (value >>> 0 !== value && !(Number.isSafeInteger(value) && value >= 0)) {
      throw new TypeError(`${value} cannot be encoded; use a whole number from 0 to 2^53 - 1`)
    }
    super.number(value)
  }
}

const requestWriter = new ValueWriter()
const wholeWriter = new WholeWriter()

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
  wholeWriter.begin(frameHeadBytes)
  wholeWriter.value(values)
  return endMessage(wholeWriter)
}

export function beginRequest(number: number, length: number, id: number): ValueWriter {
  return begin(requestWriter, number, length, id)
}

export function beginAnswer(number: number, length: number, id: number): ValueWriter {
  return begin(wholeWriter, number, length, id)
}

/** What the message is, and whose. Its other values are to be written, as many as are said. */
function begin(writer: ValueWriter, number: number, length: number, id: number): ValueWriter {
  writer.begin(frameHeadBytes)
  writer.list(length)
  writer.number(number)
  writer.number(id)
  return writer
}

/** The message as a whole frame. */
export function endMessage(writer: ValueWriter): Buffer {
  const frame = writer.end()
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
