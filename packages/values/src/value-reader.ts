import { isUtf8 } from 'node:buffer'

/** What a `ValueReader` throws; a codec makes an error of its own kind of it. */
export class Unreadable extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'Unreadable'
  }
}

/** The kind of a value, in any spelling. */
export type ValueKind = 'number' | 'text' | 'bytes' | 'list' | 'map' | 'boolean' | 'nil'

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
 * Each is the shortest that holds the value. With the spelling `any` a text, bytes or a list may have a longer
 * head, as other programs write it. `number` reads every form of a number.
 *
 * Nothing is made for an input, and for a value nothing but itself: a view takes longer than reading a small
 * message does.
 */
export class ValueReader {
  #input: Uint8Array = empty
  #at = 0
  #end = 0
  /** Of an input that is no Buffer the whole memory as one: inputs come one after the other in there. */
  #memory: Buffer = empty
  readonly #isAny: boolean
  /**
   * Short texts of ASCII that were read recently, by a hash. The same names of queues and states come again
   * and again, and comparing one takes a fifth of the time that decoding it takes.
   */
  readonly #recent: (string | undefined)[] = new Array<undefined>(0x80).fill(undefined)

  constructor(spelling: 'shortest' | 'any' = 'shortest') {
    this.#isAny = spelling === 'any'
  }

  begin(bytes: Uint8Array): void {
    if (!(bytes instanceof Uint8Array)) throw new Unreadable('it is no Uint8Array')
    this.#input = bytes
    this.#at = 0
    this.#end = bytes.length
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end
  }

  /** The kind of the next value; `undefined` at the end and for a byte that begins none of them. */
  get kind(): ValueKind | undefined {
    return this.#at < this.#end ? kinds[this.#input[this.#at]!] : undefined
  }

  /** The length of a list, whose values follow. */
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
   * A number in any form. Returns `undefined` and reads nothing if the next value is no number. An integer that
   * no double holds becomes the nearest double.
   */
  number(): number | undefined {
    if (this.#at === this.#end) return undefined
    const head = this.#head()
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

  /** In a form that `ValueWriter` never writes. */
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
        return this.#refuse('a text')
    }
  }

  /** A view on the input. */
  bytes(): Uint8Array {
    return this.bytesBy(view)
  }

  /** Returns what `cut` makes of their place in the input. To copy them needs no view. */
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

  /** Whether the next value is nil; then it is read. */
  takeNil(): boolean {
    if (this.#at >= this.#end || this.#input[this.#at] !== 0xc0) return false
    this.#at++
    return true
  }

  requireEnd(): void {
    if (this.#at !== this.#end) throw new Unreadable(`it goes on at byte ${this.#at}`)
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
      throw new Unreadable(`more bytes than needed before byte ${this.#at}`)
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

  /** Where the next `count` bytes begin. */
  #take(count: number): number {
    const start = this.#at
    if (count > this.#end - start) throw new Unreadable('it ends in the middle of a value')
    this.#at = start + count
    return start
  }

  #refuse(wanted: string): never {
    throw new Unreadable(`before byte ${this.#at} there should be ${wanted}`)
  }
}

/** The kinds of values by their first byte. */
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

/** Longer texts are mostly ids, which come once. */
const recentBytesMax = 12

const scratch = new DataView(new ArrayBuffer(8))
const empty = Buffer.alloc(0)
