import { crc32 } from 'node:zlib'
import { SharedLogError } from './errors.js'

/**
 * An entry of a shared log is one batch of records, or a note about who writes.
 *
 *     offset  bytes
 *          0      4  magic "TNRE"
 *          4      4  CRC32 of bytes 8 to 95
 *          8      2  format version
 *         10      2  kind: 1 records, 2 epoch, 3 empty, 4 resign
 *         12      4  records
 *         16     16  log id
 *         32      8  era: counts how often the shared log was begun anew under this id
 *         40      8  epoch of the writer
 *         48      8  LSN of the first record (of the next one, if there are none)
 *         56      8  decision clock, milliseconds since the epoch
 *         64      8  the writer: random bytes
 *         72      8  number of the entry among those of its writer
 *         80      4  chain: the CRC of the previous entry's header; 0 in the first
 *         84      4  CRC32 of the body
 *         88      4  bytes of the body
 *         92      4  zero
 *         96      …  body. Records: each after its length in 4 bytes. Epoch: the writer's address, UTF-8
 *
 * All integers are little-endian.
 */
export interface Entry {
  readonly kind: EntryKind
  readonly logId: string
  readonly era: number
  readonly epoch: number
  readonly firstLsn: number
  readonly clockMs: number
  readonly writer: string
  readonly number: number
  readonly chain: number
  readonly records: readonly Uint8Array[]
  /** For `epoch`: where the writer listens for clients. */
  readonly address: string
}

export interface DecodedEntry extends Entry {
  /** The chain value of the next entry. */
  readonly crc: number
}

export type EntryKind = 'records' | 'epoch' | 'empty' | 'resign'

const kinds: readonly (EntryKind | undefined)[] = [undefined, 'records', 'epoch', 'empty', 'resign']
const magic = 0x45_52_4e_54
const headerBytes = 96
const formatVersion = 1
const lengthBytes = 4

/** The most that an entry adds to its records. */
export function entryBytes(records: readonly Uint8Array[]): number {
  return records.reduce((sum, { length }) => sum + lengthBytes + length, headerBytes)
}

export function encodeEntry(entry: Entry): { readonly bytes: Uint8Array; readonly crc: number } {
  const { records } = entry
  const address = Buffer.from(entry.address)
  const bodyBytes = entryBytes(records) - headerBytes + address.length
  const bytes = Buffer.alloc(headerBytes + bodyBytes)
  let at = headerBytes
  for (const record of records) {
    bytes.writeUInt32LE(record.length, at)
    bytes.set(record, at + lengthBytes)
    at += lengthBytes + record.length
  }
  bytes.set(address, at)
  bytes.writeUInt32LE(magic, 0)
  bytes.writeUInt16LE(formatVersion, 8)
  bytes.writeUInt16LE(kinds.indexOf(entry.kind), 10)
  bytes.writeUInt32LE(records.length, 12)
  bytes.write(entry.logId, 16, 16, 'hex')
  for (const [offset, value] of numbersOf(entry)) bytes.writeBigUInt64LE(BigInt(value), offset)
  bytes.write(entry.writer, 64, 8, 'hex')
  bytes.writeUInt32LE(entry.chain, 80)
  bytes.writeUInt32LE(crc32(bytes.subarray(headerBytes)), 84)
  bytes.writeUInt32LE(bodyBytes, 88)
  const crc = crc32(bytes.subarray(8, headerBytes))
  bytes.writeUInt32LE(crc, 4)
  return { bytes, crc }
}

function numbersOf({ era, epoch, firstLsn, clockMs, number }: Entry): [number, number][] {
  return [
    [32, era],
    [40, epoch],
    [48, firstLsn],
    [56, clockMs],
    [72, number],
  ]
}

/** `seq` is the entry's place, for the messages. */
export function decodeEntry(content: Uint8Array, seq: number): DecodedEntry {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  if (bytes.length < headerBytes || bytes.readUInt32LE(0) !== magic) {
    throw foreign(seq, 'is no entry of a Tenure log')
  }
  const crc = bytes.readUInt32LE(4)
  if (crc32(bytes.subarray(8, headerBytes)) !== crc) throw damaged(seq, 'its header is damaged')
  const version = bytes.readUInt16LE(8)
  if (version > formatVersion) {
    throw new SharedLogError(
      'LOG_NEWER_FORMAT',
      `entry ${seq} has format version ${version}; this release reads up to ${formatVersion}`,
      'Upgrade this node',
    )
  }
  const body = bytes.subarray(headerBytes)
  if (bytes.readUInt32LE(88) !== body.length) {
    throw damaged(seq, `it has ${body.length} bytes instead of ${bytes.readUInt32LE(88)}`)
  }
  if (crc32(body) !== bytes.readUInt32LE(84)) throw damaged(seq, 'its body is damaged')
  const kind = kinds[bytes.readUInt16LE(10)]
  const [era, epoch, firstLsn, clockMs, number] = [32, 40, 48, 56, 72].map((offset) =>
    Number(bytes.readBigUInt64LE(offset)),
  ) as [number, number, number, number, number]
  const isSafe = [era, epoch, firstLsn, clockMs, number].every(Number.isSafeInteger)
  if (kind === undefined || !isSafe) throw damaged(seq, 'it contains values that no release writes')
  const { records, end } = decodeRecords(body, bytes.readUInt32LE(12), seq)
  return {
    crc,
    kind,
    logId: bytes.toString('hex', 16, 32),
    era,
    epoch,
    firstLsn,
    clockMs,
    writer: bytes.toString('hex', 64, 72),
    number,
    chain: bytes.readUInt32LE(80),
    records,
    address: body.toString('utf8', end),
  }
}

/** Whether the bytes are the entry with this number of this writer. Never throws. */
export function isEntryOf(content: Uint8Array, writer: string, number: number): boolean {
  if (content.length < headerBytes) return false
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
  return (
    bytes.readUInt32LE(0) === magic &&
    bytes.toString('hex', 64, 72) === writer &&
    bytes.readBigUInt64LE(72) === BigInt(number)
  )
}

function decodeRecords(
  body: Buffer,
  count: number,
  seq: number,
): { readonly records: Uint8Array[]; readonly end: number } {
  const records: Uint8Array[] = []
  let at = 0
  for (let index = 0; index < count; index++) {
    if (at + lengthBytes > body.length) throw damaged(seq, `record ${index} is missing`)
    const end = at + lengthBytes + body.readUInt32LE(at)
    if (end > body.length) throw damaged(seq, `record ${index} extends past its end`)
    records.push(body.subarray(at + lengthBytes, end))
    at = end
  }
  return { records, end: at }
}

function foreign(seq: number, what: string): SharedLogError {
  return new SharedLogError(
    'LOG_FOREIGN',
    `entry ${seq} of the shared log ${what}`,
    'Let only the coordinators write to the shared log; remove what the other program wrote, or create a new shared log from the data directory with the highest last LSN',
  )
}

function damaged(seq: number, why: string): SharedLogError {
  return new SharedLogError(
    'LOG_DAMAGED',
    `entry ${seq} of the shared log cannot be read: ${why}`,
    'Stop all coordinators, and create a new shared log from the data directory with the highest last LSN',
  )
}
