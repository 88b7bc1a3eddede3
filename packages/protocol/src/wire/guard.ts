import { isUtf8 } from 'node:buffer'
import { ProtocolError } from '../errors.js'

/**
 * Checks the bytes of a MessagePack value before a decoder sees them. Decoders trust their input: a few bytes
 * can demand hundreds of megabytes, unlimited recursion, or objects of unexpected classes. The guard accepts
 * exactly one value made of nil, booleans, numbers, well-formed strings, bytes, lists, and maps with string
 * keys. Containers must fit into the remaining bytes; depth and number of values are limited.
 */
export interface StructureLimits {
  readonly depthMax: number
  /** Number of values on all levels, including keys. */
  readonly valuesMax: number
}

export function checkStructure(bytes: Uint8Array, limits: StructureLimits): void {
  const walk = new Walk(bytes, limits)
  const end = walk.value(0, 0)
  if (end !== bytes.length) {
    throw bad(`${bytes.length - end} bytes follow the value; it must be the only one`)
  }
}

class Walk {
  readonly #bytes: Uint8Array
  readonly #limits: StructureLimits
  #values = 0

  constructor(bytes: Uint8Array, limits: StructureLimits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  /** Checks the value at `at` and returns the offset after it. */
  value(at: number, depth: number): number {
    if (++this.#values > this.#limits.valuesMax)
      throw bad(`it has more than ${this.#limits.valuesMax} values`)
    const head = this.#byte(at)
    if (head <= 0x7f || head >= 0xe0) return at + 1
    if (head <= 0x8f) return this.#map(at + 1, head & 0x0f, depth)
    if (head <= 0x9f) return this.#list(at + 1, head & 0x0f, depth)
    if (head <= 0xbf) return this.#text(at + 1, head & 0x1f)
    switch (head) {
      case 0xc0: // nil
      case 0xc2: // false
      case 0xc3: // true
        return at + 1
      case 0xc4:
        return this.#skip(at + 2, this.#length(at + 1, 1))
      case 0xc5:
        return this.#skip(at + 3, this.#length(at + 1, 2))
      case 0xc6:
        return this.#skip(at + 5, this.#length(at + 1, 4))
      case 0xca: // float32
        return this.#skip(at + 1, 4)
      case 0xcb: // float64
        return this.#skip(at + 1, 8)
      case 0xcc: // u8 to u64
      case 0xcd:
      case 0xce:
      case 0xcf:
        return this.#skip(at + 1, 1 << (head - 0xcc))
      case 0xd0: // i8 to i64
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return this.#skip(at + 1, 1 << (head - 0xd0))
      case 0xd9:
        return this.#text(at + 2, this.#length(at + 1, 1))
      case 0xda:
        return this.#text(at + 3, this.#length(at + 1, 2))
      case 0xdb:
        return this.#text(at + 5, this.#length(at + 1, 4))
      case 0xdc:
        return this.#list(at + 3, this.#length(at + 1, 2), depth)
      case 0xdd:
        return this.#list(at + 5, this.#length(at + 1, 4), depth)
      case 0xde:
        return this.#map(at + 3, this.#length(at + 1, 2), depth)
      case 0xdf:
        return this.#map(at + 5, this.#length(at + 1, 4), depth)
      default:
        throw bad(`it has a value of the unsupported type 0x${head.toString(16)}`)
    }
  }

  #list(at: number, length: number, depth: number): number {
    this.#checkContainer(at, length, depth)
    let end = at
    for (let index = 0; index < length; index++) end = this.value(end, depth + 1)
    return end
  }

  #map(at: number, length: number, depth: number): number {
    this.#checkContainer(at, 2 * length, depth)
    let end = at
    for (let index = 0; index < length; index++) {
      if (!this.#isText(end)) throw bad('a map key is not a string')
      end = this.value(end, depth + 1)
      end = this.value(end, depth + 1)
    }
    return end
  }

  #checkContainer(at: number, values: number, depth: number): void {
    if (depth >= this.#limits.depthMax)
      throw bad(`it nests more than ${this.#limits.depthMax} levels`)
    if (values > this.#bytes.length - at)
      throw bad(
        `a list or map announces ${values} values, but only ${this.#bytes.length - at} bytes follow`,
      )
  }

  #isText(at: number): boolean {
    const head = this.#byte(at)
    return (head >= 0xa0 && head <= 0xbf) || (head >= 0xd9 && head <= 0xdb)
  }

  #text(at: number, length: number): number {
    const end = this.#skip(at, length)
    for (let index = at; index < end; index++) {
      if (this.#bytes[index]! < 0x80) continue
      if (!isUtf8(this.#bytes.subarray(index, end))) throw bad('a string is not UTF-8')
      break
    }
    return end
  }

  #length(at: number, width: 1 | 2 | 4): number {
    let length = 0
    for (let index = 0; index < width; index++) length = length * 256 + this.#byte(at + index)
    return length
  }

  #skip(at: number, length: number): number {
    if (length > this.#bytes.length - at) throw bad('it ends in the middle of a value')
    return at + length
  }

  #byte(at: number): number {
    if (at >= this.#bytes.length) throw bad('it ends in the middle of a value')
    return this.#bytes[at]!
  }
}

function bad(what: string): ProtocolError {
  return new ProtocolError('PROTOCOL_BAD_STRUCTURE', `malformed message: ${what}`)
}
