import { types } from 'node:util'
import { WalError } from '../errors.js'
import { recordHeaderBytes } from '../format/limits.js'

/** One record, or several that become durable together or not at all. */
export type Records = Uint8Array | readonly Uint8Array[]

export function isBytes(value: unknown): value is Uint8Array {
  // The second check accepts arrays of another realm.
  return value instanceof Uint8Array || types.isUint8Array(value)
}

/** Bytes that the records take in a batch, or NaN if they are not records. */
export function sizeOf(records: Records): number {
  if (isBytes(records)) return recordHeaderBytes + records.length
  if (!Array.isArray(records)) return Number.NaN
  let bytes = 0
  for (const record of records) {
    bytes += isBytes(record) ? recordHeaderBytes + record.length : Number.NaN
  }
  return bytes
}

/** Why the log cannot accept the records, or `undefined`. */
export function refuseMalformed(
  records: Records,
  bytes: number,
  limits: { readonly appendBytesMax: number; readonly recordBytesMax: number },
): WalError | undefined {
  if (Number.isNaN(bytes)) {
    return new WalError(
      'WAL_BAD_RECORD',
      'a record is not a Uint8Array; append takes one Uint8Array, or an array of them',
    )
  }
  const count = isBytes(records) ? 1 : records.length
  if (count === 0)
    return new WalError('WAL_EMPTY_APPEND', 'the append has no record; it needs at least one')
  if (bytes <= limits.appendBytesMax) return undefined
  if (count === 1) {
    return new WalError(
      'WAL_RECORD_TOO_LARGE',
      `the record has ${bytes - recordHeaderBytes} bytes; the maximum is ${limits.recordBytesMax}`,
      { remedy: 'Raise options.appendBytesMax to allow more' },
    )
  }
  return new WalError(
    'WAL_APPEND_TOO_LARGE',
    `${count} records take ${bytes} bytes; the maximum for one append is ${limits.appendBytesMax}`,
    { remedy: 'Append them in several calls, or raise options.appendBytesMax' },
  )
}
