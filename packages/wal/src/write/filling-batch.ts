import {
  type BatchFacts,
  encodeRecord,
  type Place,
  type SealedBatch,
  sealBatch,
} from '../format/batch.js'
import { batchHeaderBytes, recordHeaderBytes } from '../format/limits.js'
import { extentOf } from '../format/stamps.js'
import type { Lsn } from '../lsn.js'

/** Buffers start at this size and double as batches grow. */
const smallestBufferBytes = 16 * 1024

/**
 * A batch that still accepts records. All appends in it share one promise, so that a thousand
 * appends cost one promise.
 */
export class FillingBatch {
  readonly firstLsn: Lsn
  readonly sharedEpoch: number
  /** Resolves with the last durable LSN when the batch is durable. */
  readonly durable: Promise<Lsn>
  resolve!: (lsn: Lsn) => void
  reject!: (error: Error) => void

  #buffer: Uint8Array
  #length = batchHeaderBytes
  #count = 0
  #appends = 0

  constructor(firstLsn: Lsn, sharedEpoch: number, buffer: Uint8Array | undefined) {
    this.firstLsn = firstLsn
    this.sharedEpoch = sharedEpoch
    this.#buffer = buffer ?? new Uint8Array(smallestBufferBytes)
    this.durable = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
  }

  get count(): number {
    return this.#count
  }

  get appends(): number {
    return this.#appends
  }

  get lastLsn(): Lsn {
    return this.firstLsn + this.#count - 1
  }

  /** Bytes of the records. */
  get bodyBytes(): number {
    return this.#length - batchHeaderBytes
  }

  /** The whole buffer, which is reused after the batch. */
  get buffer(): Uint8Array {
    return this.#buffer
  }

  add(record: Uint8Array): void {
    const needed = this.#length + recordHeaderBytes + record.length
    if (needed > this.#buffer.length) this.#grow(needed)
    this.#length = encodeRecord(this.#buffer, this.#length, record)
    this.#count++
    this.#appends++
  }

  addAll(records: readonly Uint8Array[], bytes: number): void {
    const needed = this.#length + bytes
    if (needed > this.#buffer.length) this.#grow(needed)
    for (const record of records) this.#length = encodeRecord(this.#buffer, this.#length, record)
    this.#count += records.length
    this.#appends++
  }

  /** Completes the batch for its place in a segment. Nothing can be added afterwards. */
  seal(facts: Omit<BatchFacts, 'firstLsn' | 'count'>, place: Place, offset: number): SealedBatch {
    const { bodyBytes } = this
    const { writtenBytes } = extentOf(offset, bodyBytes)
    if (writtenBytes > this.#buffer.length) this.#grow(writtenBytes)
    const all = { ...facts, firstLsn: this.firstLsn, count: this.#count }
    return sealBatch(this.#buffer, bodyBytes, all, place, offset)
  }

  #grow(needed: number): void {
    let size = this.#buffer.length
    while (size < needed) size *= 2
    const larger = new Uint8Array(size)
    larger.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = larger
  }
}
