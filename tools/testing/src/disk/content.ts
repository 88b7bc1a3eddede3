/**
 * The bytes of a file, either in the cache or on the medium.
 *
 * Copies share their bytes until one of them is written. So a snapshot of a whole disk is cheap: tests vary
 * one prepared disk many thousands of times.
 */

/** The unit of atomic writes and of allocation. */
export const sectorBytes = 512

const nothing = new Uint8Array(0)

export class Content {
  size = 0
  #bytes = nothing
  /** One entry per sector: 1 if allocated, 0 in a hole. */
  #allocated = nothing
  #shared = false

  static from(bytes: Uint8Array): Content {
    const content = new Content()
    content.write(bytes, 0)
    return content
  }

  fork(): Content {
    const fork = new Content()
    fork.size = this.size
    fork.#bytes = this.#bytes
    fork.#allocated = this.#allocated
    fork.#shared = true
    this.#shared = true
    return fork
  }

  read(into: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.size - position))
    const stored = this.#bytes.subarray(position, position + count)
    into.set(stored)
    into.fill(0, stored.length, count)
    return count
  }

  /** Writes the bytes, allocating sectors and growing the file as needed. */
  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return
    const end = position + bytes.length
    this.#own(end)
    this.#bytes.set(bytes, position)
    this.#allocated.fill(1, Math.floor(position / sectorBytes), Math.ceil(end / sectorBytes))
    this.size = Math.max(this.size, end)
  }

  /** Copies the sectors [first, end). Holes read as zeros. */
  sectors(first: number, end: number): Uint8Array {
    const copy = new Uint8Array((end - first) * sectorBytes)
    copy.set(this.#bytes.subarray(first * sectorBytes, end * sectorBytes))
    return copy
  }

  /** Replaces whole sectors, beginning at `first`; the size does not change. */
  putSectors(first: number, bytes: Uint8Array): void {
    const end = first + bytes.length / sectorBytes
    this.#own(end * sectorBytes)
    this.#bytes.set(bytes, first * sectorBytes)
    this.#allocated.fill(1, first, end)
  }

  isAllocated(sector: number): boolean {
    return this.#allocated[sector] === 1
  }

  get sectorsAllocated(): number {
    let count = 0
    for (const flag of this.#allocated) count += flag
    return count
  }

  /** Truncates or extends the content. Data after the new end is removed. */
  resize(size: number): void {
    const sectors = Math.ceil(size / sectorBytes)
    // Most files have no data there, and stay shared.
    if (hasAny(this.#bytes, size) || hasAny(this.#allocated, sectors)) {
      this.#own(0)
      this.#bytes.fill(0, size)
      this.#allocated.fill(0, sectors)
    }
    this.size = size
  }

  flipBit(bitIndex: number): void {
    const position = bitIndex >>> 3
    this.#own(position + 1)
    this.#bytes[position] = (this.#bytes[position] ?? 0) ^ (1 << (bitIndex & 7))
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(this.size)
    this.read(bytes, 0)
    return bytes
  }

  /** Makes the bytes private to this content, with capacity for `length`. */
  #own(length: number): void {
    const room = this.#bytes.length
    if (!this.#shared && length <= room) return
    // Doubles the capacity, because files grow in many small steps.
    const target = length <= room ? room : room === 0 ? length : Math.max(length, 2 * room)
    const sectors = Math.ceil(target / sectorBytes)
    const bytes = new Uint8Array(sectors * sectorBytes)
    bytes.set(this.#bytes)
    const allocated = new Uint8Array(sectors)
    allocated.set(this.#allocated)
    this.#bytes = bytes
    this.#allocated = allocated
    this.#shared = false
  }
}

function hasAny(bytes: Uint8Array, from: number): boolean {
  for (let i = from; i < bytes.length; i++) if (bytes[i] !== 0) return true
  return false
}
