import type { SystemName } from './result.js'

/** What a log does, as each of the systems does it. */
export interface Store {
  /** Must resolve only when the record is on the medium. */
  append(record: Uint8Array): Promise<unknown>
  /** The same for many records, all of them or none. */
  appendAll(records: readonly Uint8Array[]): Promise<unknown>
  /** Reads everything back, in order, and counts it. */
  replay(): Promise<Count>
  close(): Promise<void>
}

export interface Count {
  readonly records: number
  readonly bytes: number
}

export type StoreName = Exclude<SystemName, 'limit'>

/** Keys of the stores that have keys: an LSN whose bytes sort as the number does. */
export function keyOf(lsn: number): Buffer {
  const key = Buffer.allocUnsafe(8)
  key.writeUInt32BE(Math.floor(lsn / 2 ** 32), 0)
  key.writeUInt32BE(lsn % 2 ** 32, 4)
  return key
}

export function lsnOf(key: Uint8Array): number {
  const view = new DataView(key.buffer, key.byteOffset, 8)
  return view.getUint32(0) * 2 ** 32 + view.getUint32(4)
}
