import type { WalError } from '../errors.js'
import { largestExtent } from '../format/stamps.js'
import type { Lsn } from '../lsn.js'
import { FillingBatch } from './filling-batch.js'

/** How many buffers to keep for later batches. */
const buffersMax = 3

/** Batches that are not durable yet: at most one in flight, the full ones, and the one that is filling. */
export class BatchQueue {
  readonly #appendBytesMax: number
  readonly #full: FillingBatch[] = []
  readonly #buffers: Uint8Array[] = []
  #filling: FillingBatch | undefined
  #inFlight: FillingBatch | undefined
  #sharedEpoch: number

  constructor(appendBytesMax: number, sharedEpoch: number) {
    this.#sharedEpoch = sharedEpoch
    this.#appendBytesMax = appendBytesMax
  }

  get isInFlight(): boolean {
    return this.#inFlight !== undefined
  }

  /** The batch that is filling, if it exists. */
  get filling(): FillingBatch | undefined {
    return this.#filling
  }

  /** The batch to write next. */
  get next(): FillingBatch | undefined {
    return this.#full[0] ?? this.#filling
  }

  /** Space that all of them take in a segment. */
  get bytes(): number {
    let bytes = 0
    for (const batch of [this.#inFlight, ...this.#full, this.#filling]) {
      if (batch !== undefined) bytes += largestExtent(batch.bodyBytes)
    }
    return bytes
  }

  /** The batch for an append of this size whose first record has this LSN. */
  batchFor(bytes: number, firstLsn: Lsn): FillingBatch {
    const filling = this.#filling
    if (filling !== undefined) {
      if (filling.bodyBytes + bytes <= this.#appendBytesMax) return filling
      this.#full.push(filling)
      this.#filling = undefined
    }
    return this.begin(firstLsn)
  }

  /** The batch that is filling, or a new one without records. */
  begin(firstLsn: Lsn): FillingBatch {
    this.#filling ??= new FillingBatch(firstLsn, this.#sharedEpoch, this.#buffers.pop())
    return this.#filling
  }

  get sharedEpoch(): number {
    return this.#sharedEpoch
  }

  /** Batches from now on are of this epoch of the shared log. */
  enterEpoch(sharedEpoch: number): void {
    this.#sharedEpoch = sharedEpoch
    if (this.#filling === undefined || this.#filling.sharedEpoch === sharedEpoch) return
    this.#full.push(this.#filling)
    this.#filling = undefined
  }

  /** The next batch is being written. */
  sent(): void {
    this.#inFlight = this.next
    if (this.#full.shift() === undefined) this.#filling = undefined
  }

  /** The batch in flight is durable. */
  durable(batch: FillingBatch): void {
    this.#inFlight = undefined
    batch.resolve(batch.lastLsn)
    const isOrdinary = batch.buffer.length <= 2 * this.#appendBytesMax
    if (isOrdinary && this.#buffers.length < buffersMax) this.#buffers.push(batch.buffer)
  }

  /** Rejects the batches that are not in flight. */
  rejectWaiting(error: WalError): void {
    for (const batch of [...this.#full.splice(0), this.#filling]) batch?.reject(error)
    this.#filling = undefined
  }

  rejectAll(error: WalError): void {
    this.#inFlight?.reject(error)
    this.rejectWaiting(error)
  }
}
