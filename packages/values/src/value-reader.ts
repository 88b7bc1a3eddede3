import { isUtf8 } from 'node:buffer'

/** Thrown by `ValueReader` for malformed input. A codec converts it to its own error. */
export class Unreadable extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'Unreadable'
  }
}

/** The kind of a value, in either spelling. */
export type ValueKind = 'number' | 'text' | 'bytes' | 'list' | 'map' | 'boolean' | 'nil'

/**
 * Reads MessagePack in one canonical form and rejects every other encoding of the same value. So two
 * different byte strings never mean the same record, and all readers agree.
 *
 *     whole number   00-7f   cc u8   cd u16   ce u32   cb f64 (whole, from 2^32 to 2^53 - 1)
 *     text           a0-bf   d9 u8   da u16   db u32   then UTF-8
 *     bytes                  c4 u8   c5 u16   c6 u32
 *     list           90-9f           dc u16            then its values
 *     nil c0, false c2, true c3
 *
 * Each value uses the shortest form that fits. With the spelling `any`, strings, bytes and lists may have a
 * longer head, as other programs write them. `number` reads every form of a number.
 *
 * The reader allocates nothing per input, and per value only the value itself: creating a view takes longer
 * than reading a small message.
 */
export class ValueReader {
  #input: Uint8Array = empty
  #at = 0
  #end = 0
  /**
   * A Buffer over the whole memory of an input that is not a Buffer. Consecutive inputs usually share that
   * memory.
   */
  #memory: Buffer = empty
  readonly #isAny: boolean
  /**
   * Recently read short ASCII strings, by hash. Queue and state names recur, and comparing takes a
   * fifth of the time of decoding.
   */
  readonly #recent: (string | undefined)[] = new Array<undefined>(0x80).fill(undefined)

  constructor(spelling: 'shortest' | 'any' = 'shortest') {
    this.#isAny = spelling === 'any'
  }

  begin(bytes: Uint8Array): void {
    if (!(bytes instanceof Uint8Array)) throw new Unreadable('the input is not a Uint8Array')
    this.#input = bytes
    this.#at = 0
    this.#end = bytes.length
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  /** The kind of the next value. `undefined` at the end, and for a byte that starts no supported value. */
  get kind(): ValueKind | undefined {
    return this.#at < this.#end ? kinds[this.#input[this.#at]!] : undefined
  }

  /** Reads the head of a list and returns its length; the values follow. */
  list(): number {
    const head = this.#head()
    if (head >= 0x90 && head <= 0x9f) return head & 0x0f
    if (head === 0xdc) return this.#u16(0x10)
    if (head === 0xdd && this.#isAny) return this.#u32(0x1_0000)
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
      case 0xcb: {
        const value = this.#f64()
        if (Number.isSafeInteger(value) && value >= 2 ** 32) return value
      }
    }
    return this.#refuse('a whole number')
  }

  /**
   * Reads a number in any form. Returns `undefined` and reads nothing if the next value is not a number. An
   * integer that a double cannot represent is rounded to the nearest double.
   */
  number(): number | undefined {
    const at = this.#at
    if (at === this.#end) return undefined
    const head = this.#input[at]!
    this.#at = at + 1
    if (head < 0x80) return head
    switch (head) {
      case 0xcc:
        return this.#u8(0)
      case 0xcd:
        return this.#u16(0)
      case 0xce:
        return this.#u32(0)
      case 0xcb:
        return this.#f64()
      default:
        return this.#rareNumber(head)
    }
  }

  /** Reads the forms that `ValueWriter` never writes. */
  #rareNumber(head: number): number | undefined {
    if (head >= 0xe0) return head - 0x100
    switch (head) {
      case 0xca:
        return this.#f32()
      case 0xcf:
        return this.#u32(0) * 2 ** 32 + this.#u32(0)
      case 0xd0:
        return (this.#u8(0) << 24) >> 24
      case 0xd1:
        return (this.#u16(0) << 16) >> 16
      case 0xd2:
        return this.#u32(0) | 0
      case 0xd3:
        return (this.#u32(0) | 0) * 2 ** 32 + this.#u32(0)
      default:
        this.#at--
        return undefined
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
        return this.#refuse('a string')
    }
  }

  /** Returns a view of the input. */
  bytes(): Uint8Array {
    return this.bytesBy(view)
  }

  /**
   * Reads bytes and returns the result of `cut`, called with their range in the input. A caller that copies
   * needs no view.
   */
  bytesBy<T>(cut: (input: Uint8Array, start: number, end: number) => T): T {
    const length = this.#bytesLength()
    const start = this.#take(length)
    return cut(this.#input, start, start + length)
  }

  #bytesLength(): number {
    switch (this.#head()) {
      case 0xc4:
        return this.#u8(0)
      case 0xc5:
        return this.#u16(0x100)
      case 0xc6:
        return this.#u32(0x1_0000)
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

  /** Reads the next value if it is nil; otherwise returns false. */
  takeNil(): boolean {
    if (this.#at >= this.#end || this.#input[this.#at] !== 0xc0) return false
    this.#at++
    return true
  }

  /** Consumes the rest of the input and returns a view of it. */
  rest(): Uint8Array {
    return this.#input.subarray(this.#take(this.#end - this.#at), this.#end)
  }

  requireEnd(): void {
    if (this.#at !== this.#end) throw new Unreadable(`unexpected data at byte ${this.#at}`)
  }

  #head(): number {
    return this.#input[this.#take(1)]!
  }

  #u8(min: number): number {
    return this.#atLeast(min, this.#input[this.#take(1)]!)
  }

  #u16(min: number): number {
    const at = this.#take(2)
    return this.#atLeast(min, this.#input[at]! * 2 ** 8 + this.#input[at + 1]!)
  }

  #u32(min: number): number {
    return this.#atLeast(min, this.#wordAt(this.#take(4)))
  }

  #f32(): number {
    scratch.setUint32(0, this.#wordAt(this.#take(4)))
    return scratch.getFloat32(0)
  }

  #f64(): number {
    const at = this.#take(8)
    scratch.setUint32(0, this.#wordAt(at))
    scratch.setUint32(4, this.#wordAt(at + 4))
    return scratch.getFloat64(0)
  }

  #wordAt(at: number): number {
    const input = this.#input
    const low = (input[at + 1]! << 16) | (input[at + 2]! << 8) | input[at + 3]!
    return input[at]! * 2 ** 24 + low
  }

  #atLeast(min: number, value: number): number {
    if (value < min && !this.#isAny)
      throw new Unreadable(`a head before byte ${this.#at} is longer than necessary`)
    return value
  }

  #text(length: number): string {
    const start = this.#take(length)
    const end = start + length
    const input = this.#input
    if (length === 0) return ''
    const isShort = length <= recentBytesMax
    const slot = (input[start]! ^ (input[end - 1]! << 1) ^ length) & 0x7f
    if (isShort) {
      const recent = this.#recent[slot]
      if (recent !== undefined && isAsciiAt(recent, input, start, end)) return recent
    }
    for (let at = start; at < end; at++) {
      if (input[at]! < 0x80) continue
      if (!isUtf8(input.subarray(start, end))) this.#refuse('UTF-8')
      return this.#decode('utf8', start, end)
    }
    const text = this.#decode('latin1', start, end)
    if (isShort) this.#recent[slot] = text
    return text
  }

  #decode(encoding: 'utf8' | 'latin1', start: number, end: number): string {
    const input = this.#input
    if (input instanceof Buffer) return input.toString(encoding, start, end)
    const { byteOffset } = input
    if (this.#memory.buffer !== input.buffer || this.#memory.length < byteOffset + end) {
      this.#memory = Buffer.from(input.buffer)
    }
    return this.#memory.toString(encoding, byteOffset + start, byteOffset + end)
  }

  /** Consumes `count` bytes and returns the offset of the first one. */
  #take(count: number): number {
    const start = this.#at
    if (count > this.#end - start) throw new Unreadable('the input ends in the middle of a value')
    this.#at = start + count
    return start
  }

  #refuse(wanted: string): never {
    throw new Unreadable(`expected ${wanted} before byte ${this.#at}`)
  }
}

/** The kind of a value by its first byte. */
const kinds: readonly (ValueKind | undefined)[] = Array.from({ length: 0x100 }, (_, head) => {
  if (head < 0x80 || head >= 0xe0 || (head >= 0xca && head <= 0xd3)) return 'number'
  if (head < 0x90 || head === 0xde || head === 0xdf) return 'map'
  if (head < 0xa0 || head === 0xdc || head === 0xdd) return 'list'
  if (head < 0xc0 || (head >= 0xd9 && head <= 0xdb)) return 'text'
  if (head >= 0xc4 && head <= 0xc6) return 'bytes'
  if (head === 0xc2 || head === 0xc3) return 'boolean'
  return head === 0xc0 ? 'nil' : undefined
})

function isAsciiAt(text: string, input: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false
  for (let at = start; at < end; at++) {
    if (text.charCodeAt(at - start) !== input[at]) return false
  }
  return true
}

function view(input: Uint8Array, start: number, end: number): Uint8Array {
  return input.subarray(start, end)
}

/** Longer strings are mostly ids, which do not recur. */
const recentBytesMax = 12

const scratch = new DataView(new ArrayBuffer(8))
const empty = Buffer.alloc(0)
