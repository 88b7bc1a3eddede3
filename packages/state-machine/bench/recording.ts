import { encodeRecord, type LogRecord } from '../src/index.js'

/**
 * Encoded records in one buffer. A million small objects would distort the measurement, because the
 * garbage collector visits each of them repeatedly.
 */
export class Recording {
  #bytes = new Uint8Array(1 << 20)
  #ends = new Uint32Array(1 << 14)
  #length = 0

  get length(): number {
    return this.#length
  }

  get bytesPerRecord(): number {
    return this.#end(this.#length) / this.#length
  }

  add(record: LogRecord): void {
    const encoded = encodeRecord(record)
    const start = this.#end(this.#length)
    const end = start + encoded.length
    if (end > this.#bytes.length) this.#bytes = grown(this.#bytes, Uint8Array)
    if (this.#length === this.#ends.length) this.#ends = grown(this.#ends, Uint32Array)
    this.#bytes.set(encoded, start)
    this.#ends[this.#length++] = end
  }

  clear(): void {
    this.#length = 0
  }

  /** Views on the next few records, like those of a log replay. */
  views(from: number, count: number): Uint8Array[] {
    const views: Uint8Array[] = []
    const until = Math.min(from + count, this.#length)
    for (let index = from; index < until; index++) {
      views.push(this.#bytes.subarray(this.#end(index), this.#end(index + 1)))
    }
    return views
  }

  /** The offset at which the first `count` records end. */
  #end(count: number): number {
    return count === 0 ? 0 : this.#ends[count - 1]!
  }
}

function grown<T extends Uint8Array | Uint32Array>(old: T, Kind: new (length: number) => T): T {
  const larger = new Kind(old.length * 2)
  larger.set(old)
  return larger
}
