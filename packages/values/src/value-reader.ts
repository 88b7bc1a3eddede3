import { isUtf8 } from 'node:buffer'

/** What a `ValueReader` throws; a codec makes an error of its own kind of it. */
export class Unreadable extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'Unreadable'
  }
}

/**
 * Reads MessagePack in the one form in which it is written here, and refuses every other spelling
 * of the same values: so two different byte strings never mean the same record, and no machine
 * reads out of one what another does not.
 *
 *     whole number   00-7f   cc u8   cd u16   ce u32   cb f64 (whole, from 2^32 to 2^53 - 1)
 *     text           a0-bf   d9 u8   da u16   db u32   then UTF-8
 *     bytes                  c4 u8   c5 u16   c6 u32
 *     list           90-9f           dc u16            then its values
 *     nil c0, false c2, true c3
 *
 * Each is the shortest that holds the value. A replay reads millions of records out of a few
 * large buffers, so the views over the last buffer are kept, and everything is read at offsets in it.
 */
export class ValueReader {
  #input: Uint8Array = empty
  #buffer: Buffer = empty
  #view: DataView = new DataView(empty.buffer)
  #at = 0
  #end = 0

  begin(bytes: Uint8Array): void {
    if (!(bytes instanceof Uint8Array)) throw new Unreadable('it is no Uint8Array')
    const end = bytes.byteOffset + bytes.length
    // A resizable buffer may have outgrown the views on it; of one that is gone there is no view.
    if (end > this.#buffer.length || (bytes.buffer !== this.#buffer.buffer && bytes.length > 0)) {
      this.#buffer = Buffer.from(bytes.buffer)
      this.#view = new DataView(bytes.buffer)
    }
    this.#input = bytes
    this.#at = bytes.byteOffset
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  /** The length of a list, whose values follow. */
  list(): number {
    const head = this.#head()
    if (head >= 0x90 && head <= 0x9f) return head & 0x0f
    if (head === 0xdc) return this.#u16(0x10)
    return this.#refuse('a list')
  }

  whole(): number {
    const head = this.#head()
    if (head < 0x80) return head
    switch (head) {
      case 0xcc:
        return this.#u8(0x80)
      case 0xcd:
        return this.#u16(0x100)
      case 0xce:
        return this.#u32(0x1_0000)
      case 0xcb:
        return this.#f64()
      default:
        return this.#refuse('a whole number')
    }
  }

  text(): string {
    const head = this.#head()
    if (head >= 0xa0 && head <= 0xbf) return this.#text(head & 0x1f)
    switch (head) {
      case 0xd9:
        return this.#text(this.#u8(0x20))
      case 0xda:
        return this.#text(this.#u16(0x100))
      case 0xdb:
        return this.#text(this.#u32(0x1_0000))
      default:
        return this.#refuse('a text')
    }
  }

  /** A view on the input. */
  bytes(): Uint8Array {
    const head = this.#head()
    switch (head) {
      case 0xc4:
        return this.#bytes(this.#u8(0))
      case 0xc5:
        return this.#bytes(this.#u16(0x100))
      case 0xc6:
        return this.#bytes(this.#u32(0x1_0000))
      default:
        return this.#refuse('bytes')
    }
  }

  boolean(): boolean {
    const head = this.#head()
    if (head === 0xc2) return false
    if (head === 0xc3) return true
    return this.#refuse('a boolean')
  }

  /** Whether the next value is nil; then it is read. */
  takeNil(): boolean {
    if (this.#at >= this.#end || this.#buffer[this.#at] !== 0xc0) return false
    this.#at++
    return true
  }

  requireEnd(): void {
    if (this.#at !== this.#end) throw new Unreadable(`it goes on at byte ${this.#offset()}`)
  }

  #head(): number {
    return this.#buffer[this.#take(1)]!
  }

  #u8(min: number): number {
    return this.#atLeast(min, this.#buffer[this.#take(1)]!)
  }

  #u16(min: number): number {
    return this.#atLeast(min, this.#view.getUint16(this.#take(2)))
  }

  #u32(min: number): number {
    return this.#atLeast(min, this.#view.getUint32(this.#take(4)))
  }

  #f64(): number {
    const value = this.#view.getFloat64(this.#take(8))
    if (Number.isSafeInteger(value) && value >= 2 ** 32) return value
    return this.#refuse('a whole number')
  }

  #atLeast(min: number, value: number): number {
    if (value < min) throw new Unreadable(`more bytes than needed before byte ${this.#offset()}`)
    return value
  }

  #text(length: number): string {
    const start = this.#take(length)
    const end = start + length
    const buffer = this.#buffer
    for (let at = start; at < end; at++) {
      if (buffer[at]! < 0x80) continue
      if (!isUtf8(buffer.subarray(start, end))) this.#refuse('UTF-8')
      return buffer.toString('utf8', start, end)
    }
    return buffer.toString('latin1', start, end)
  }

  #bytes(length: number): Uint8Array {
    const start = this.#take(length) - this.#input.byteOffset
    return this.#input.subarray(start, start + length)
  }

  /** Where the next `count` bytes begin. */
  #take(count: number): number {
    const start = this.#at
    if (count > this.#end - start) throw new Unreadable('it ends in the middle of a value')
    this.#at = start + count
    return start
  }

  #refuse(wanted: string): never {
    throw new Unreadable(`before byte ${this.#offset()} there should be ${wanted}`)
  }

  #offset(): number {
    return this.#at - this.#input.byteOffset
  }
}

const empty = Buffer.alloc(0)
