import {
  batchMagic,
  type DecodedHeader,
  decodeBatchHeader,
  nextBatchOffset,
  type Place,
} from '../format/batch.js'
import { batchHeaderBytes } from '../format/limits.js'

/** Every batch header in the bytes, which stand at `start` in their file, whatever is between them. */
export function* headersIn(
  bytes: Uint8Array,
  start: number,
  place: Place,
): Generator<{ readonly offset: number; readonly header: DecodedHeader }> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = buffer.indexOf(batchMagic); at !== -1; at = buffer.indexOf(batchMagic, at + 1)) {
    const offset = start + at
    if (nextBatchOffset(offset) !== offset || at + batchHeaderBytes > bytes.length) continue
    const candidate = bytes.subarray(at, at + batchHeaderBytes)
    const header = decodeBatchHeader(candidate, place.crcAt(offset))
    if (header !== undefined) yield { offset, header }
  }
}
