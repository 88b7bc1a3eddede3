import type { SystemName } from './result.js'

/** The operations of a log, implemented by each system. */
export interface Store {
  /** Must resolve only when the record is on the medium. */
  append(record: Uint8Array): Promise<unknown>
  /** Appends many records, all of them or none. */
  appendAll(records: readonly Uint8Array[]): Promise<unknown>
  /** Reads and counts all records in order. */
  replay(): Promise<Count>
  close(): Promise<void>
}

export interface Count {
  readonly records: number
  readonly bytes: number
}

export type StoreName = Exclude<SystemName, 'limit'>

/** Keys for the stores that need them: bytes that sort like the LSN. */
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
