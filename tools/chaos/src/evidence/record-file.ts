import { closeSync, createReadStream, existsSync, openSync, writeSync } from 'node:fs'
import { decodeRecord, encodeRecord, type LogRecord } from '@tenure/state-machine'

/** A record with its LSN. */
export interface Logged {
  readonly lsn: number
  readonly record: LogRecord
}

// A frame:
//
//     0        8            12
//     ┌────────┬────────────┬───────────────
//     │ LSN    │ length (n) │ n bytes
//     │ double │ u32        │ the record
//     └────────┴────────────┴───────────────
const headerBytes = 12

/** Stores records byte for byte as they were in the log. */
export class RecordFile {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  /** Appends consecutive records. */
  append(firstLsn: number, records: readonly Uint8Array[]): void {
    const frames = records.flatMap((bytes, index) => {
      const header = Buffer.alloc(headerBytes)
      header.writeDoubleLE(firstLsn + index, 0)
      header.writeUInt32LE(bytes.length, 8)
      return [header, bytes]
    })
    const bytes = Buffer.concat(frames)
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(this.#file, bytes, written)
    }
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Reads the records one by one: the file may be larger than memory. */
export async function* readRecords(path: string): AsyncGenerator<Logged> {
  if (!existsSync(path)) return
  let rest = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    rest = Buffer.concat([rest, chunk as Buffer])
    let at = 0
    for (;;) {
      const end = endOfFrame(rest, at)
      if (end > rest.length) break
      const bytes = Uint8Array.prototype.slice.call(rest, at + headerBytes, end)
      yield { lsn: rest.readDoubleLE(at), record: decodeRecord(bytes) }
      at = end
    }
    rest = rest.subarray(at)
  }
  if (rest.length > 0) throw new Error(`${path} ends in the middle of a record`)
}

export function isSameRecord(one: LogRecord, other: LogRecord): boolean {
  return Buffer.from(encodeRecord(one)).equals(encodeRecord(other))
}

function endOfFrame(bytes: Buffer, at: number): number {
  if (at + headerBytes > bytes.length) return Number.POSITIVE_INFINITY
  return at + headerBytes + bytes.readUInt32LE(at + 8)
}
